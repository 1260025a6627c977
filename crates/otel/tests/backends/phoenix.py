"""Reads the traces of the example `otel` back from Phoenix, and compares them with what the example said.

Arguments: the address of Phoenix, and the file with the output of the example, whose first line is the answer.
"""

import json
import sys
import time
import urllib.request

url, output = sys.argv[1], sys.argv[2]
with open(output, encoding="utf-8") as file:
    answer = file.readline().strip()


def read():
    with urllib.request.urlopen(f"{url}/v1/projects/default/spans?limit=100") as response:
        return json.load(response)["data"]


deadline = time.monotonic() + 60
while len(spans := read()) < 9 and time.monotonic() < deadline:
    time.sleep(1)

children = {}
for span in sorted(spans, key=lambda span: span["start_time"]):
    children.setdefault(span.get("parent_id"), []).append(span)


def tree(parent, depth):
    for span in children.get(parent, []):
        print(f"{'  ' * depth}{span['span_kind']:10} {span['name']:28} {span['status_code']}")
        tree(span["context"]["span_id"], depth + 1)


tree(None, 0)


def known(parent):
    """Returns the spans below one that Phoenix knows the kind of, without those between."""
    for span in children.get(parent, []):
        if span["span_kind"] == "UNKNOWN":
            yield from known(span["context"]["span_id"])
        else:
            yield span


good, bad = [span for span in spans if span["span_kind"] == "AGENT"]
if good["start_time"] > bad["start_time"]:
    good, bad = bad, good
kinds = lambda span: [child["span_kind"] for child in known(span["context"]["span_id"])]
assert kinds(good) == ["RETRIEVER", "LLM", "TOOL", "LLM"], kinds(good)
assert kinds(bad) == ["RETRIEVER", "LLM"], kinds(bad)
assert bad["status_code"] == "ERROR" and good["status_code"] != "ERROR"
assert [child["status_code"] for child in known(bad["context"]["span_id"])][-1] == "ERROR"

retriever, first, tool, last = known(good["context"]["span_id"])
attributes = last["attributes"]
message = lambda kind, index, name: attributes[f"llm.{kind}_messages.{index}.message.{name}"]
assert message("output", 0, "content") == answer, attributes
roles = [message("input", index, "role") for index in range(4)]
assert roles == ["system", "user", "assistant", "tool"], roles
assert message("input", 1, "content").startswith("How are my tomatoes?"), attributes
assert attributes["llm.token_count.prompt"] == 150 and attributes["llm.token_count.completion"] == 9
sessions = {span["attributes"].get("session.id") for span in (good, first, tool, last, retriever)}
assert len(sessions) == 1 and None not in sessions, sessions
document = "retrieval.documents.0.document.content"
assert "Tomatoes" in retriever["attributes"][document], retriever["attributes"]
print("Phoenix has the tree, the messages, the tokens, the session and the error")
