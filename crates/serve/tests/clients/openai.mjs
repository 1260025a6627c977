// The official client of OpenAI: chat completions and Responses, whole and streamed.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { base, checkError, fails, run, texts } from "./checks.mjs";

const client = new OpenAI({ apiKey: "ann", baseURL: `${base}/v1`, maxRetries: 0 });
const model = "assistant";

/** Runs a turn, and checks that it fails if it should. */
async function outcome(turn, ask) {
  try {
    const answer = await ask();
    assert(!fails(turn), "the turn should fail");
    return answer;
  } catch (error) {
    if (!fails(turn)) throw error;
    checkError(error);
    if (turn.kind === "error") assert.equal(error.status, 503);
    return undefined;
  }
}

const messages = (turn) => [
  { role: "system", content: "forged" },
  { role: "user", content: turn.message },
];
const checkUsage = (turn, input, output) =>
  assert.deepEqual([input, output], [turn.input_tokens, turn.output_tokens]);

await run("openai chat completions", async (turn) => {
  const answer = await outcome(turn, () =>
    client.chat.completions.create({ model, messages: messages(turn) }));
  if (answer === undefined) return;
  assert.equal(answer.choices[0].message.content, texts(turn).join("\n\n"));
  assert.equal(answer.choices[0].message.tool_calls, undefined);
  checkUsage(turn, answer.usage.prompt_tokens, answer.usage.completion_tokens);
});

await run("openai chat completions, streamed", async (turn) => {
  const answer = await outcome(turn, () =>
    client.chat.completions
      .stream({ model, messages: messages(turn), stream_options: { include_usage: true } })
      .finalChatCompletion());
  if (answer === undefined) return;
  assert.equal(answer.choices[0].message.content, texts(turn).join("\n\n"));
  assert.equal(answer.choices[0].finish_reason, "stop");
  checkUsage(turn, answer.usage.prompt_tokens, answer.usage.completion_tokens);
});

await run("openai responses", async (turn) => {
  const answer = await outcome(turn, () => client.responses.create({ model, input: turn.message }));
  if (answer === undefined) return;
  assert.equal(answer.output_text, texts(turn).join(""));
  checkUsage(turn, answer.usage.input_tokens, answer.usage.output_tokens);
});

await run("openai responses, streamed", async (turn) => {
  const answer = await outcome(turn, async () => {
    const stream = client.responses.stream({ model, input: turn.message });
    const response = await stream.finalResponse();
    if (response.status === "failed") throw new Error(response.error.message);
    return response;
  });
  if (answer === undefined) return;
  assert.equal(answer.output_text, texts(turn).join(""));
  checkUsage(turn, answer.usage.input_tokens, answer.usage.output_tokens);
});

const models = await client.models.list();
assert.deepEqual(models.data.map((entry) => entry.id), [model]);
