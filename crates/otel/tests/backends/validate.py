"""Validates content, read as lines of name, tab and JSON, against the models of the conventions in this folder."""

import json
import sys

import models

MODELS = {
    "gen_ai.input.messages": models.InputMessages,
    "gen_ai.output.messages": models.OutputMessages,
    "gen_ai.system_instructions": models.SystemInstructions,
    "gen_ai.tool.definitions": models.ToolDefinitions,
    "gen_ai.retrieval.documents": models.RetrievalDocuments,
}
# Any JSON.
FREE = {"gen_ai.tool.call.arguments", "gen_ai.tool.call.result"}
# Parts with a model of their own. Any other type of part is valid, so a misspelled one would be.
PARTS = {"text", "reasoning", "tool_call", "tool_call_response", "uri", "blob"}

counts = dict.fromkeys([*MODELS, *FREE], 0)
parts = dict.fromkeys(PARTS, 0)
for line in sys.stdin:
    name, text = line.rstrip("\n").split("\t", 1)
    value = json.loads(text)
    counts[name] += 1
    if name in FREE:
        continue
    MODELS[name].model_validate(value)
    if name.endswith(".messages"):
        for message in value:
            for part in message["parts"]:
                parts[part["type"]] += 1

try:
    models.OutputMessages.model_validate([{"role": "assistant", "parts": []}])
    sys.exit("the models accept an answer without a finish reason")
except ValueError:
    pass
for name, count in sorted({**counts, **parts}.items()):
    print(f"{count:6} {name}")
    if count == 0:
        sys.exit(f"no `{name}` was validated")
