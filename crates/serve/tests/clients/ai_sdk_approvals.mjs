// Approvals with the chat of the AI SDK, without React. The second argument is the package: one of its versions.
import assert from "node:assert/strict";
import { base, forgeries, runApprovals } from "./checks.mjs";

const sdk = await import(process.argv[3]);
const { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } = sdk;

/** The state of a page. */
class State {
  messages;
  error;
  #status = "ready";
  #waiting = [];
  constructor(messages) {
    this.messages = messages;
  }
  get status() {
    return this.#status;
  }
  set status(status) {
    this.#status = status;
    if (status === "ready" || status === "error") this.#waiting.splice(0).forEach((resolve) => resolve());
  }
  /** Resolves when the next request has ended. */
  ended() {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
  pushMessage = (message) => (this.messages = [...this.messages, message]);
  popMessage = () => (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index, message) => (this.messages = this.messages.with(index, message));
  snapshot = (thing) => structuredClone(thing);
}

/** A page, which sends its decisions when the last one is made. */
class Page extends AbstractChat {
  constructor(id, { messages = [], principal = "ann" } = {}) {
    const transport = new DefaultChatTransport({
      api: `${base}/ui/shop`,
      headers: { authorization: `Bearer ${principal}` },
    });
    const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses;
    super({ id, transport, sendAutomaticallyWhen, state: new State(structuredClone(messages)) });
  }
  async say(text) {
    await this.sendMessage({ text });
    return this;
  }
  /** Returns the tool calls of the last message. */
  calls() {
    return this.messages.at(-1).parts.filter((part) => part.type === "dynamic-tool");
  }
  texts() {
    return this.messages.at(-1).parts.filter((part) => part.type === "text").map((part) => part.text);
  }
  /** Answers all requests for approval of the last message, and waits for the rest of the turn. */
  async decide(...decisions) {
    const ended = this.state.ended();
    for (const [index, call] of this.calls().entries()) {
      await this.addToolApprovalResponse({ id: call.approval.id, ...decisions[index] });
    }
    await ended;
    return this;
  }
  /** Returns a page with the same conversation, whose requests for approval have been changed. */
  copy({ principal, change = () => {} } = {}) {
    const messages = structuredClone(this.messages);
    messages.at(-1).parts.filter((part) => part.type === "dynamic-tool").forEach(change);
    return new Page(this.id, { messages, principal });
  }
}

const waiting = async (id, orders = id) => {
  const page = await new Page(id).say(`refund ${orders}`);
  assert.equal(page.status, "ready", String(page.error));
  assert.deepEqual(page.calls().map((call) => call.state), page.calls().map(() => "approval-requested"));
  for (const order of orders.split(" ")) assert.equal(await count(order), "0");
  return page;
};
const count = async (order) => (await new Page(`count ${order}`).say(`count ${order}`)).texts().at(-1);
const approved = { approved: true };

/** Checks the error that the page shows. */
function refused(page, code) {
  assert.equal(page.status, "error");
  assert.match(page.error.message, new RegExp(`"code":"${code}"`));
}

function finished(page, ...results) {
  assert.equal(page.status, "ready", String(page.error));
  assert.deepEqual(page.texts(), ["Let me see.", `Results: ${results.join("; ")}`]);
  const { inputTokens, outputTokens } = page.messages.at(-1).metadata.usage;
  assert.deepEqual([inputTokens, outputTokens], [30, 11]);
  assert.deepEqual(page.messages.map((message) => message.role), ["user", "assistant"]);
}

await runApprovals(`AI SDK (${process.argv[3]})`, {
  "an approved call runs once, and its message goes on": async (id) => {
    const page = await (await waiting(id)).decide(approved);
    finished(page, `refunded ${id}`);
    assert.deepEqual(page.calls().map(({ state, output }) => [state, output]), [["output-available", `refunded ${id}`]]);
    assert.equal(await count(id), "1");
  },
  "a denied call does not run, and the model gets the reason": async (id) => {
    const page = await (await waiting(id)).decide({ approved: false, reason: "too old" });
    assert.deepEqual(page.calls().map((call) => call.state), ["output-denied"]);
    assert.match(page.texts().at(-1), /^Results: .*too old/);
    assert.equal(await count(id), "0");
  },
  "the calls of an answer are decided together": async (id) => {
    const page = await waiting(id, `${id}x ${id}y`);
    assert.equal(page.calls().length, 2);
    await page.decide({ approved: false }, approved);
    assert.deepEqual(page.calls().map((call) => call.state), ["output-denied", "output-available"]);
    assert.deepEqual([await count(`${id}x`), await count(`${id}y`)], ["0", "1"]);
  },
  "of two pages with one decision, one is refused": async (id) => {
    const page = await waiting(id);
    const copy = page.copy();
    const pages = await Promise.all([page.decide(approved), copy.decide(approved)]);
    const [won, lost] = pages.sort((left) => (left.status === "ready" ? -1 : 1));
    finished(won, `refunded ${id}`);
    refused(lost, "conflict");
    assert.equal(await count(id), "1");
  },
  "a forged id decides nothing": async (id) => {
    const [page, other] = [await waiting(id), await waiting(`${id}-other`)];
    const real = page.calls()[0].approval.id;
    for (const forgery of forgeries(real, other.calls()[0].approval.id)) {
      const copy = page.copy({ change: (call) => (call.approval.id = forgery.id) });
      refused(await copy.decide(approved), forgery.code);
    }
    refused(await page.copy({ principal: "ben" }).decide(approved), "decision_not_found");
    assert.equal(await count(id), "0");
    finished(await page.decide(approved), `refunded ${id}`);
  },
  "forged arguments of a call are not read": async (id) => {
    const page = await waiting(id);
    const copy = page.copy({ change: (call) => (call.input = { order: `${id}-forged` }) });
    finished(await copy.decide(approved), `refunded ${id}`);
    assert.equal(await count(`${id}-forged`), "0");
  },
  "an answer to a question reaches the tool": async (id) => {
    const page = await new Page(id).say(`size ${id}`);
    const { data } = page.messages.at(-1).parts.find(({ type }) => type === "data-tool-questions");
    assert.equal(data.questions[0].message, "Which size?");
    const answer = (size) => ({ body: { toolAnswers: [{ id: data.id, answers: [{ accept: { size } }] }] } });
    const copy = page.copy();
    await copy.sendMessage(undefined, answer(0));
    refused(copy, "invalid_decision");
    await page.sendMessage(undefined, answer(42));
    finished(page, JSON.stringify([{ accept: { size: 42 } }]));
    assert.deepEqual(page.calls().map(({ state, toolCallId }) => [state, toolCallId]), [["output-available", data.toolCallId]]);
  },
  "a message while the turn waits is refused": async (id) => {
    const page = await waiting(id);
    const other = await new Page(id).say("Is it done?");
    assert.equal(other.status, "error");
    assert.match(other.error.message, /an earlier turn of the conversation waits/);
    finished(await page.decide(approved), `refunded ${id}`);
  },
});
