// The client of AG-UI. It rejects events in a wrong order.
import assert from "node:assert/strict";
import { HttpAgent } from "@ag-ui/client";
import { EventSchemas } from "@ag-ui/core/schemas";
import { base, checkError, fails, run, texts } from "./checks.mjs";

/** Runs a message in a conversation of its own. */
async function ask(message) {
  const agent = new HttpAgent({
    url: `${base}/ag-ui/assistant`,
    threadId: message,
    headers: { authorization: "Bearer ann" },
    initialMessages: [{ id: "1", role: "user", content: message }],
  });
  let failure, finished;
  const onEvent = ({ event }) => {
    EventSchemas.parse(event);
    if (event.type === "RUN_ERROR") failure = event;
    if (event.type === "RUN_FINISHED") finished = event;
  };
  let rejected;
  await agent.runAgent({}, { onEvent }).catch((error) => (rejected = error));
  return { messages: agent.messages.slice(1), failure, finished, rejected };
}

await run("AG-UI", async (turn) => {
  const { messages, failure, finished, rejected } = await ask(turn.message);
  assert.equal(failure !== undefined, fails(turn), String(rejected));
  if (failure !== undefined) {
    assert.equal(failure.code, turn.kind === "error" ? "unavailable" : "bad_answer");
    return checkError(turn, JSON.stringify(failure));
  }
  assert.equal(rejected, undefined);
  const contents = messages
    .filter((message) => message.role === "assistant" && message.content)
    .map((message) => message.content);
  assert.deepEqual(contents, texts(turn));
  const calls = messages.flatMap((message) => message.toolCalls ?? []);
  const cities = turn.cities ?? [];
  assert.deepEqual(calls.map((call) => JSON.parse(call.function.arguments).city), cities);
  const results = messages.filter((message) => message.role === "tool");
  assert.deepEqual(results.map((result) => result.content), cities.map((city) => `${city} is sunny`));
  assert.deepEqual(results.map((result) => result.toolCallId), calls.map((call) => call.id));
  const reasoning = messages.filter((message) => message.role === "reasoning");
  assert.deepEqual(reasoning.map((message) => message.content), turn.thinking ? [turn.thinking] : []);
  assert.deepEqual(
    [finished.usage[0].inputTokens, finished.usage[0].outputTokens],
    [turn.input_tokens, turn.output_tokens],
  );
});

const count = 1000;
let accepted = 0;
for (let seed = 0; seed < count; seed += 1) {
  const { failure, finished, rejected } = await ask(`random ${seed}`);
  if (finished !== undefined && rejected === undefined) accepted += 1;
  else if (failure?.code === "bad_answer") accepted += 1;
  else console.error(`AG-UI: random ${seed}: ${rejected ?? JSON.stringify(failure)}`);
}
console.log(`AG-UI: ${accepted} of ${count} random turns accepted`);
if (accepted < count) process.exitCode = 1;
