"""The command line program `llm`, which streams and asks for usage. Its folder of settings is the second argument."""

import json
import os
import pathlib
import subprocess
import sys

base, folder, program = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
turns = json.loads((pathlib.Path(__file__).parent / "turns.json").read_text())
folder.mkdir()
settings = {"model_id": "served", "model_name": "assistant", "api_base": f"{base}/v1", "api_key_name": "served"}
# JSON is YAML.
(folder / "extra-openai-models.yaml").write_text(json.dumps([settings]))
(folder / "keys.json").write_text(json.dumps({"served": "ann"}))
environment = os.environ | {"LLM_USER_PATH": str(folder)}

passed = 0
for turn in turns:
    command = [program, "-m", "served", "--no-log", turn["message"]]
    answer = subprocess.run(command, env=environment, capture_output=True)
    text = "\n\n".join(text for text in (turn.get("earlier", ""), turn["text"]) if text)
    if turn["kind"] in ("error", "broken"):
        good = answer.returncode != 0 and b"secret-7" not in answer.stderr
    else:
        good = answer.returncode == 0 and answer.stdout.decode() == text + "\n"
    passed += good
    if not good:
        print(f"llm: {turn['message']}: {answer}", file=sys.stderr)
print(f"llm: {passed} of {len(turns)} turns")
sys.exit(passed < len(turns))
