// Interrupts with the client of AG-UI.
import assert from "node:assert/strict";
import { buildResumeArray, HttpAgent } from "@ag-ui/client";
import { EventSchemas, RunAgentInputSchema } from "@ag-ui/core/schemas";
import { base, forgeries, runApprovals } from "./checks.mjs";

/** Returns the agent of a conversation. */
function agentOf(threadId, { principal = "ann", messages = [] } = {}) {
  return new HttpAgent({
    url: `${base}/ag-ui/shop`,
    threadId,
    headers: { authorization: `Bearer ${principal}` },
    initialMessages: messages,
  });
}

/** Runs an agent. Returns its last event, or the error of the request. */
async function run(agent, parameters = {}) {
  let last, error;
  const onEvent = ({ event }) => {
    EventSchemas.parse(event);
    last = event;
  };
  // Otherwise the client prints the error.
  const onRunFailed = (failure) => {
    error = failure.error;
    return { stopPropagation: true };
  };
  await agent.runAgent(parameters, { onEvent, onRunFailed }).catch((reason) => (error = reason));
  return { last, error };
}

async function say(agent, content) {
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
  return run(agent);
}

async function waiting(id, orders = id) {
  const agent = agentOf(id);
  const { last, error } = await say(agent, `refund ${orders}`);
  assert.equal(error, undefined);
  assert.equal(last.outcome.type, "interrupt");
  assert.equal(agent.pendingInterrupts.length, orders.split(" ").length);
  for (const order of orders.split(" ")) assert.equal(await count(order), "0");
  return agent;
}

const count = async (order) => {
  const agent = agentOf(`count ${order}`);
  await say(agent, `count ${order}`);
  return agent.messages.at(-1).content;
};

const approved = { approved: true };
/** Resolves the interrupts of an agent with these payloads. */
function decide(agent, ...payloads) {
  const interrupts = agent.pendingInterrupts;
  const replies = interrupts.map(({ id }, index) => [id, { status: "resolved", payload: payloads[index] }]);
  const resume = buildResumeArray(interrupts, Object.fromEntries(replies));
  RunAgentInputSchema.shape.resume.parse(resume);
  return run(agent, { resume });
}

function finished(agent, { last, error }, ...results) {
  assert.equal(error, undefined);
  assert.equal(last.type, "RUN_FINISHED");
  assert.equal(last.outcome.type, "success");
  assert.deepEqual(agent.pendingInterrupts, []);
  const texts = agent.messages.filter(({ role, content }) => role === "assistant" && content);
  assert.deepEqual(texts.map(({ content }) => content), ["Let me see.", `Results: ${results.join("; ")}`]);
  assert.deepEqual([last.usage[0].inputTokens, last.usage[0].outputTokens], [30, 11]);
  const calls = agent.messages.flatMap((message) => message.toolCalls ?? []);
  const answers = agent.messages.filter(({ role }) => role === "tool");
  assert.deepEqual(answers.map(({ toolCallId }) => toolCallId), calls.map(({ id }) => id));
  return answers.map(({ content }) => content);
}

function refused({ error }, status, code) {
  assert.equal(error?.status, status, String(error));
  assert.equal(error.payload.error.code, code);
}

/** Returns an agent with the same conversation, which answers other interrupts. */
function copyOf(agent, { id, principal } = {}) {
  const copy = agentOf(agent.threadId, { principal, messages: structuredClone(agent.messages) });
  copy.pendingInterrupts = structuredClone(agent.pendingInterrupts);
  if (id !== undefined) copy.pendingInterrupts[0].id = id;
  return copy;
}

await runApprovals("AG-UI", {
  "an approved call runs once, and the run goes on": async (id) => {
    const agent = await waiting(id);
    assert.deepEqual(finished(agent, await decide(agent, approved), `refunded ${id}`), [`refunded ${id}`]);
    assert.equal(await count(id), "1");
  },
  "a denied call does not run, and the model gets the reason": async (id) => {
    const agent = await waiting(id);
    const outcome = await decide(agent, { approved: false, reason: "too old" });
    assert.equal(outcome.last.outcome.type, "success");
    assert.match(agent.messages.at(-1).content, /^Results: .*too old/);
    assert.equal(await count(id), "0");
  },
  "a cancelled interrupt denies the call": async (id) => {
    const agent = await waiting(id);
    const interrupts = agent.pendingInterrupts;
    const resume = buildResumeArray(interrupts, { [interrupts[0].id]: { status: "cancelled" } });
    const { last } = await run(agent, { resume });
    assert.equal(last.outcome.type, "success");
    assert.equal(await count(id), "0");
  },
  "the calls of an answer are decided together": async (id) => {
    const agent = await waiting(id, `${id}x ${id}y`);
    const copy = copyOf(agent);
    copy.pendingInterrupts.pop();
    refused(await decide(copy, approved), 400, "incomplete_decisions");
    const { last } = await decide(agent, { approved: false }, approved);
    assert.equal(last.outcome.type, "success");
    assert.deepEqual([await count(`${id}x`), await count(`${id}y`)], ["0", "1"]);
  },
  "of two agents with one decision, one is refused": async (id) => {
    const agents = [await waiting(id)];
    agents.push(copyOf(agents[0]));
    const outcomes = await Promise.all(agents.map((agent) => decide(agent, approved)));
    const won = outcomes.findIndex(({ error }) => error === undefined);
    finished(agents[won], outcomes[won], `refunded ${id}`);
    refused(outcomes[1 - won], 409, "conflict");
    assert.equal(await count(id), "1");
  },
  "a forged id decides nothing": async (id) => {
    const [agent, other] = [await waiting(id), await waiting(`${id}-other`)];
    const real = agent.pendingInterrupts[0].id;
    for (const forgery of forgeries(real, other.pendingInterrupts[0].id)) {
      refused(await decide(copyOf(agent, forgery), approved), forgery.status, forgery.code);
    }
    refused(await decide(copyOf(agent, { principal: "ben" }), approved), 404, "decision_not_found");
    assert.equal(await count(id), "0");
    finished(agent, await decide(agent, approved), `refunded ${id}`);
  },
  "edited arguments are refused, and decide nothing": async (id) => {
    const agent = await waiting(id);
    const edited = { approved: true, editedArgs: { order: `${id}-edited` } };
    refused(await decide(copyOf(agent), edited), 403, "edit_not_allowed");
    finished(agent, await decide(agent, approved), `refunded ${id}`);
    assert.equal(await count(`${id}-edited`), "0");
  },
  "an answer to a question reaches the tool": async (id) => {
    const agent = agentOf(id);
    await say(agent, `size ${id}`);
    const [{ reason, message, responseSchema }] = agent.pendingInterrupts;
    assert.deepEqual([reason, message], ["input_required", "shop: Which size?"]);
    assert.deepEqual(responseSchema.properties.size, { type: "integer", minimum: 1 });
    refused(await decide(copyOf(agent), { size: 0 }), 400, "invalid_decision");
    const answers = JSON.stringify([{ accept: { size: 42 } }]);
    finished(agent, await decide(agent, { size: 42 }), answers);
  },
  "runs with random decisions about one to four calls have events in order": async (id) => {
    for (let round = 0; round < 100; round += 1) {
      const orders = Array.from({ length: 1 + (round % 4) }, (_, index) => `${id}-${round}-${index}`);
      // Each combination of decisions, in turn.
      const payloads = orders.map((_, index) => ({ approved: Boolean((round >> (2 + index)) & 1) }));
      const agent = await waiting(`${id}-${round}`, orders.join(" "));
      const { last, error } = await decide(agent, ...payloads);
      assert.equal(error, undefined);
      assert.equal(last.outcome.type, "success");
      const results = agent.messages.filter(({ role }) => role === "tool").map(({ content }) => content);
      assert.equal(results.length, orders.length);
      for (const [index, order] of orders.entries()) {
        assert.equal(results.includes(`refunded ${order}`), payloads[index].approved, order);
      }
    }
  },
  "a message while the turn waits is refused": async (id) => {
    const agent = await waiting(id);
    const { last } = await say(agentOf(id), "Is it done?");
    assert.deepEqual([last.type, last.code], ["RUN_ERROR", "suspended"]);
    finished(agent, await decide(agent, approved), `refunded ${id}`);
  },
});
