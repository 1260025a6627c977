// The conversation: messages, tool calls, and the stream of a turn.

/** Reads the events of a streamed answer. */
async function* serverEvents(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) if (frame.startsWith("data: ")) yield JSON.parse(frame.slice(6));
  }
}

/** A text that grows. It is rendered once per frame, and less often when it is long. */
class GrowingText {
  constructor(parent) {
    this.text = "";
    this.element = make("div", { class: "markdown" });
    parent.append(this.element);
  }
  add(piece) {
    this.text += piece;
    if (this.plain) this.plain.appendData(piece);
    else if (!this.timer) this.timer = setTimeout(() => this.render(), this.text.length > 20_000 ? 500 : 30);
  }
  render() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.plain) return;
    const follows = isAtEnd();
    const element = markdown(this.text);
    this.element.replaceWith(element);
    this.element = element;
    const plain = element.querySelector(":scope > .plain");
    if (plain && this.text.length > LONGEST_MARKDOWN) this.plain = plain.firstChild;
    if (follows) scrollToEnd();
  }
}

/** A tool call: its arguments, and its result when it has ended. */
class ToolCard {
  constructor(parent, name) {
    this.started = performance.now();
    this.arguments = "";
    this.state = make("span", { class: "state" }, "writing");
    this.time = make("span", { class: "end" });
    this.body = make("div", { class: "body" });
    this.element = make("details", { class: "tool" }, make("summary", {}, make("span", { class: "name" }, name), this.state, this.time), this.body);
    this.name = name;
    parent.append(this.element);
  }
  show() {
    const parts = [make("h3", {}, "Arguments"), textBlock(`Arguments of ${this.name}`, pretty(this.arguments || "{}"))];
    if (this.result !== undefined) parts.push(make("h3", {}, "Result"), textBlock(`Result of ${this.name}`, pretty(this.result)));
    this.body.replaceChildren(...parts);
  }
  running() {
    this.started = performance.now();
    this.set("running", "");
  }
  set(text, kind) {
    this.state.textContent = text;
    this.state.className = `state ${kind}`;
    this.show();
  }
  finish(result, failed) {
    this.result = result;
    this.set(failed ? "failed" : "done", failed ? "bad" : "ok");
    if (this.live) this.time.textContent = milliseconds((performance.now() - this.started) * 1000);
  }
}

const isAtEnd = () => find("log").scrollHeight - find("log").scrollTop - find("log").clientHeight < 80;
const scrollToEnd = () => { find("log").scrollTop = find("log").scrollHeight; };

function userMessage(text) {
  return make("div", { class: "message user" }, make("span", { class: "visually-hidden" }, "You: "), text);
}

function note(text, kind) {
  return make("div", { class: `note ${kind || ""}` }, text);
}

/** Shows the messages of a conversation as the store has them. */
function showHistory(memory) {
  const log = find("messages");
  log.replaceChildren();
  const cards = new Map();
  let parts;
  for (const { message } of memory.messages) {
    if (message.type === "SYSTEM") log.append(make("div", { class: "message system" }, textOf(message)));
    else if (message.type === "USER") {
      log.append(userMessage(textOf(message)));
      parts = undefined;
    } else {
      if (!parts) log.append(make("div", { class: "message" }, make("span", { class: "visually-hidden" }, "Assistant: "), parts = make("div", { class: "parts" })));
      if (message.type === "AI") {
        if (message.thinking) parts.append(thinking(message.thinking).element);
        if (textOf(message)) parts.append(markdown(textOf(message)));
        for (const call of message.toolExecutionRequests || []) {
          const card = new ToolCard(parts, call.name);
          card.arguments = call.arguments;
          card.set("no result", "warn");
          cards.set(call.id, card);
        }
      } else if (message.type === "TOOL_EXECUTION_RESULT") cards.get(message.id)?.finish(textOf(message), message.isError);
      else parts.append(textBlock("Message", pretty(message)));
    }
  }
  const open = memory.open_turn;
  if (open?.text) log.append(userMessage(open.text));
  if (open && !open.services.length) log.append(note("A turn of this conversation is open: it is running, or was interrupted."));
  scrollToEnd();
}

function thinking(text) {
  const content = make("div", { class: "body" }, text);
  return { element: make("details", { class: "thinking" }, make("summary", {}, "Thinking"), content), content };
}

/** Shows the events of one answer. Returns the interrupts of a turn that waits. */
class AnswerView {
  constructor(parts, cards) {
    this.parts = parts;
    this.cards = cards;
    this.waiting = make("div", { class: "waiting" }, make("span", { class: "visually-hidden" }, "The model is writing."));
    parts.append(this.waiting);
  }
  append(element) {
    this.waiting.before(element);
  }
  show(event) {
    const follows = isAtEnd();
    const handler = this[event.type];
    if (handler) handler.call(this, event);
    if (follows) scrollToEnd();
  }
  TEXT_MESSAGE_START() {
    const holder = make("div", { class: "parts" });
    this.append(holder);
    this.text = new GrowingText(holder);
  }
  TEXT_MESSAGE_CONTENT(event) { this.text.add(event.delta); }
  TEXT_MESSAGE_END() { this.text.render(); }
  REASONING_MESSAGE_START() {
    const { element, content } = thinking("");
    this.thoughts = content;
    this.append(element);
  }
  REASONING_MESSAGE_CONTENT(event) { this.thoughts.append(event.delta); }
  TOOL_CALL_START(event) {
    const holder = make("div", { class: "parts" });
    this.append(holder);
    const card = new ToolCard(holder, event.toolCallName);
    card.live = true;
    this.cards.set(event.toolCallId, card);
  }
  TOOL_CALL_ARGS(event) { this.cards.get(event.toolCallId).arguments += event.delta; }
  TOOL_CALL_END(event) { this.cards.get(event.toolCallId)?.running(); }
  TOOL_CALL_RESULT(event) { this.cards.get(event.toolCallId)?.finish(event.content); }
  CUSTOM({ name, value }) {
    if (name === "tool_progress") this.cards.get(value.toolCallId)?.set(progressText(value), "");
    if (name === "retrieved" && value.length) this.append(sourceList(value));
  }
  RUN_ERROR(event) {
    this.failed = true;
    this.append(note(event.message, "bad"));
  }
  RUN_FINISHED(event) {
    this.finished = true;
    this.interrupts = event.outcome?.interrupts;
  }
  end() {
    this.text?.render();
    this.waiting.remove();
  }
}

const progressText = ({ completed, total, message }) => message || (total ? `${completed} of ${total}` : `${completed}`);

function sourceList(sources) {
  const items = sources.map((source) => make("li", {}, source.title || source.id, source.url ? [" ", ...link(source.url, source.url, 0)] : []));
  return make("details", { class: "tool" }, make("summary", {}, `${sources.length} source${sources.length === 1 ? "" : "s"}`), make("div", { class: "body" }, make("ol", { class: "sources" }, items)));
}
