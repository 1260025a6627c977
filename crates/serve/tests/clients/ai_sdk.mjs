// The AI SDK, without React. The second argument is the package: one of its versions.
import assert from "node:assert/strict";
import { base, checkError, fails, run, texts } from "./checks.mjs";

const { DefaultChatTransport, readUIMessageStream } = await import(process.argv[3]);
const transport = new DefaultChatTransport({
  api: `${base}/ui/assistant`,
  headers: { authorization: "Bearer ann" },
});

await run(`AI SDK (${process.argv[3]})`, async (turn) => {
  let message, failure;
  const stream = await transport
    .sendMessages({
      chatId: `${process.argv[3]} ${turn.message}`,
      trigger: "submit-message",
      messages: [{ id: "1", role: "user", parts: [{ type: "text", text: turn.message }] }],
    });
  const onError = (error) => (failure = error);
  for await (const state of readUIMessageStream({ stream, onError })) message = state;
  assert.equal(failure !== undefined, fails(turn));
  if (failure !== undefined) return checkError(turn, failure);
  const parts = (type) => message.parts.filter((part) => part.type === type);
  assert.deepEqual(parts("text").map((part) => part.text), texts(turn));
  assert.deepEqual(parts("reasoning").map((part) => part.text), turn.thinking ? [turn.thinking] : []);
  const cities = turn.cities ?? [];
  assert.deepEqual(parts("dynamic-tool").map((part) => part.input), cities.map((city) => ({ city })));
  assert.deepEqual(parts("dynamic-tool").map((part) => part.output), cities.map((city) => `${city} is sunny`));
  assert.deepEqual(
    [message.metadata.usage.inputTokens, message.metadata.usage.outputTokens],
    [turn.input_tokens, turn.output_tokens],
  );
});
