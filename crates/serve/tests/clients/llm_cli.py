"""The command line program `llm`, which streams and asks for usage. Its folder of settings is the second argument."""

import json
import os
import pathlib
import subprocess
import sys

base, folder, program = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
turns = json.loads((pathlib.Path(__file__).parent / "turns.json").read_text())
folder.mkdir()
models = [("served", "assistant"), ("shop", "shop")]
settings = [
    {"model_id": model, "model_name": name, "api_base": f"{base}/v1", "api_key_name": "served"}
    for model, name in models
]
# JSON is YAML.
(folder / "extra-openai-models.yaml").write_text(json.dumps(settings))
(folder / "keys.json").write_text(json.dumps({"served": "ann"}))
environment = os.environ | {"LLM_USER_PATH": str(folder)}

passed = 0
for turn in turns:
    command = [program, "-m", "served", "--no-log", "--usage", turn["message"]]
    answer = subprocess.run(command, env=environment, capture_output=True)
    text = "\n\n".join(text for text in (turn.get("earlier", ""), turn["text"]) if text)
    if turn["kind"] in ("error", "broken"):
        error = "the model is not available now" if turn["kind"] == "error" else "the model gave no usable answer"
        good = answer.returncode != 0 and error.encode() in answer.stderr and b"secret-7" not in answer.stderr
    else:
        usage = f"{turn['input_tokens']} input, {turn['output_tokens']} output"
        good = answer.returncode == 0 and answer.stdout.decode() == text + "\n" and usage in answer.stderr.decode()
    passed += good
    if not good:
        print(f"llm: {turn['message']}: {answer}", file=sys.stderr)
print(f"llm: {passed} of {len(turns)} turns")

command = [program, "-m", "shop", "--no-log", "refund llm"]
answer = subprocess.run(command, env=environment, capture_output=True)
waits = answer.returncode != 0 and b"waits for approval" in answer.stderr
if not waits:
    print(f"llm: a turn that waits: {answer}", file=sys.stderr)
print(f"llm: {int(waits)} of 1 approvals")
sys.exit(passed < len(turns) or not waits)
