"""The official Python client of OpenAI: chat completions and Responses, whole and streamed."""

import json
import pathlib
import sys

import openai

base = sys.argv[1]
turns = json.loads((pathlib.Path(__file__).parent / "turns.json").read_text())
client = openai.OpenAI(api_key="ann", base_url=f"{base}/v1", max_retries=0)


def texts(turn):
    return [text for text in (turn.get("earlier", ""), turn["text"]) if text]


def completion(turn):
    answer = client.chat.completions.create(
        model="assistant", messages=[{"role": "user", "content": turn["message"]}]
    )
    usage = answer.usage
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
            good = should_fail and "secret-7" not in str(error)
        passed += good
        if not good:
            print(f"openai for Python: {ask.__name__}: {turn['message']}", file=sys.stderr)
    failed += len(turns) - passed
    print(f"openai for Python, {ask.__name__}: {passed} of {len(turns)} turns")
sys.exit(1 if failed else 0)
