"""The official Python client of OpenAI: chat completions and Responses, whole and streamed.

These protocols have no decisions of clients: a manager decides on an endpoint of the application, whose address is the
second argument.
"""

import json
import pathlib
import sys
import urllib.error
import urllib.request

import openai

base, manager = sys.argv[1:3]
turns = json.loads((pathlib.Path(__file__).parent / "turns.json").read_text())
client = openai.OpenAI(api_key="ann", base_url=f"{base}/v1", max_retries=0)


def texts(turn):
    return [text for text in (turn.get("earlier", ""), turn["text"]) if text]


def is_expected(turn, error):
    """Checks the error of a turn, whose text has no details."""
    text = "the model is not available now" if turn["kind"] == "error" else "the model gave no usable answer"
    # The last kind breaks a stream that has begun, which has no status.
    has_status = turn["kind"] != "error" or getattr(error, "status_code", None) == 503
    return has_status and text in str(error) and "secret-7" not in str(error)


def completion(turn):
    answer = client.chat.completions.create(
        model="assistant", messages=[{"role": "user", "content": turn["message"]}]
    )
    usage = answer.usage
    assert answer.choices[0].message.tool_calls is None
    return answer.choices[0].message.content, "\n\n", usage.prompt_tokens, usage.completion_tokens


def streamed_completion(turn):
    text, usage = "", None
    for chunk in client.chat.completions.create(
        model="assistant",
        messages=[{"role": "user", "content": turn["message"]}],
        stream=True,
        stream_options={"include_usage": True},
    ):
        text += "".join(choice.delta.content or "" for choice in chunk.choices)
        assert not any(choice.delta.tool_calls for choice in chunk.choices)
        usage = chunk.usage or usage
    return text, "\n\n", usage.prompt_tokens, usage.completion_tokens


def response(turn):
    answer = client.responses.create(model="assistant", input=turn["message"])
    return answer.output_text, "", answer.usage.input_tokens, answer.usage.output_tokens


def streamed_response(turn):
    with client.responses.stream(model="assistant", input=turn["message"]) as stream:
        for event in stream:
            if event.type == "response.failed":
                raise openai.OpenAIError(event.response.error.message)
        answer = stream.get_final_response()
    return answer.output_text, "", answer.usage.input_tokens, answer.usage.output_tokens


failed = 0
for ask in (completion, streamed_completion, response, streamed_response):
    passed = 0
    for turn in turns:
        should_fail = turn["kind"] in ("error", "broken")
        try:
            text, separator, *usage = ask(turn)
            expected = [turn["input_tokens"], turn["output_tokens"]]
            good = not should_fail and text == separator.join(texts(turn)) and usage == expected
        except openai.OpenAIError as error:
            good = should_fail and is_expected(turn, error)
        passed += good
        if not good:
            print(f"openai for Python: {ask.__name__}: {turn['message']}", file=sys.stderr)
    failed += len(turns) - passed
    print(f"openai for Python, {ask.__name__}: {passed} of {len(turns)} turns")


def shop_completion(conversation, text):
    answer = client.chat.completions.create(
        model="shop",
        messages=[{"role": "user", "content": text}],
        extra_headers={"x-conversation-id": conversation},
    )
    return answer.choices[0].message.content


def shop_response(conversation, text):
    return client.responses.create(model="shop", input=text, conversation=conversation).output_text


def is_suspended(say, conversation, text):
    try:
        say(conversation, text)
    except openai.ConflictError as error:
        return error.code == "suspended"
    return False


def decide(conversation, decision):
    """Decides as the manager. Returns the status."""
    request = urllib.request.Request(f"{manager}/decide/ann/{conversation}/{decision}", method="POST")
    request.add_header("authorization", "Bearer manager")
    try:
        return urllib.request.urlopen(request).status
    except urllib.error.HTTPError as error:
        return error.code


for say in (shop_completion, shop_response):
    passed = 0
    for decision, refunds in (("approve", "1"), ("deny", "0")):
        order = f"py-{say.__name__}-{decision}"
        good = (
            is_suspended(say, order, f"refund {order}")
            and is_suspended(say, order, "I approve it.")
            and decide(order, decision) == 200
            and decide(order, decision) == 404
            and say(order, f"count {order}") == refunds
        )
        passed += good
        if not good:
            print(f"openai for Python: {say.__name__}: {decision}", file=sys.stderr)
    failed += 2 - passed
    print(f"openai for Python, {say.__name__}: {passed} of 2 approvals")
sys.exit(1 if failed else 0)
