// The inspector: a turn, and the memory of its conversation.

const section = (title, ...children) => make("section", {}, make("h3", {}, title), ...children);
const fold = (name, state, end, ...children) => make("details", {}, make("summary", {}, make("span", { class: "name" }, name), state && make("span", { class: `state ${state[1]}` }, state[0]), end && make("span", { class: "end" }, end)), make("div", { class: "body" }, ...children));
const stepOf = (step) => (typeof step.step === "string" ? [step.step, {}] : Object.entries(step.step)[0]);

function usageText(usage) {
  const names = { input: "input", output: "output", cached_input: "cached", cache_write_input: "written to cache", reasoning: "reasoning" };
  const parts = Object.entries(names).filter(([key]) => usage?.[key] !== undefined).map(([key, name]) => `${usage[key].toLocaleString()} ${name}`);
  return parts.length ? `${parts.join(", ")} tokens` : "not reported";
}

function outcomeText(outcome) {
  if (outcome.failed) return [`failed: ${outcome.failed.kind}`, "bad"];
  if (outcome.suspended) return ["waits", "warn"];
  return outcome === "completed" ? ["completed", "ok"] : ["cancelled", "warn"];
}

function showTurn(turn, actions) {
  const { record } = turn;
  const steps = record.steps.map((step) => [step, ...stepOf(step)]);
  const of = (name) => steps.filter(([, kind]) => kind === name);
  const [outcome, kind] = outcomeText(record.outcome);
  const facts = [
    ["Call", make("span", { class: "mono" }, `${record.service}::${record.method}`)],
    ["Outcome", make("span", { class: `state ${kind}` }, outcome)],
    record.outcome.failed && ["Error", record.outcome.failed.message],
    ["Duration", milliseconds(turn.duration_us)],
    ["Usage", usageText(record.usage)],
    turn.cost && ["Cost", turn.cost],
    turn.parent && ["Repeats", make("span", { class: "mono" }, turn.parent)],
    turn.outer && ["Tool of", make("span", { class: "mono" }, turn.outer)],
  ].filter(Boolean);
  const sources = of("retrieved").flatMap(([, , data]) => data.contents);
  const content = [
    section("Turn", make("dl", { class: "facts" }, facts.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])), make("div", { class: "row" }, actions)),
    section("Timeline", timeline(steps, turn.duration_us)),
    section("Requests", turn.requests.map((request, index) => shownRequest(request, of("request_issued")[index]?.[2], index))),
    section("Responses", exchange(steps)),
    sources.length && section("Sources", sources.map((source) => fold(source.id || source.metadata?.title || "source", null, source.score === undefined ? null : source.score.toFixed(3), make("pre", { tabindex: "0", role: "group", "aria-label": "Source" }, source.text)))),
    verdicts(steps),
    record.omitted_steps ? make("p", { class: "muted" }, `${record.omitted_steps} further steps were not recorded.`) : null,
  ];
  find("panel-turn").replaceChildren(make("div", { class: "sections" }, content.filter(Boolean)));
}

function shownRequest(request, issued, index) {
  const sent = request.bodies.length ? request.bodies : [JSON.stringify({ messages: request.messages, tools: issued?.tools, parameters: issued?.parameters })];
  const note = request.bodies.length ? "The body, as it was sent to the provider." : "The bytes of this model are not known. These are the messages, tools and parameters.";
  const views = sent.map((text, attempt) => {
    const view = textBlock(`Body of request ${index + 1}`, pretty(text));
    view.dataset.body = `${index}.${attempt}`;
    const raw = make("button", { type: "button", class: "small", "aria-pressed": "false" }, "Raw bytes");
    raw.addEventListener("click", () => {
      const isRaw = raw.getAttribute("aria-pressed") !== "true";
      raw.setAttribute("aria-pressed", String(isRaw));
      view.textContent = isRaw ? text : pretty(text);
    });
    const label = sent.length > 1 ? `Attempt ${attempt + 1}. ${note}` : note;
    return [make("div", { class: "row" }, make("span", { class: "muted" }, label), raw), view];
  });
  return fold(`Request ${index + 1}`, null, size(new Blob(sent).size), views);
}

const size = (bytes) => (bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(1)} KiB`);

function exchange(steps) {
  let number = 0;
  return steps.map(([, kind, data]) => {
    if (kind === "response_received") {
      const usage = data.usage || {};
      const end = [usage.input, usage.output].some((count) => count !== undefined) ? `${usage.input ?? "?"} → ${usage.output ?? "?"} tokens` : null;
      return fold(`Response ${++number}`, data.cached ? ["from the cache", ""] : data.attempts > 1 ? [`${data.attempts} attempts`, "warn"] : null, end, textBlock(`Response ${number}`, pretty(data)));
    }
    if (kind === "request_failed") return fold(`Response ${++number}`, [data.kind, "bad"], null, textBlock(`Error ${number}`, pretty(data)));
    if (kind === "tool_finished") return fold(data.result?.toolName || "tool", [data.result?.isError ? "failed" : "tool", data.result?.isError ? "bad" : ""], milliseconds(data.duration_us), textBlock("Result of the tool", textOf(data.result || {})));
    return null;
  });
}

function verdicts(steps) {
  const rows = steps.flatMap(([, kind, data]) => {
    if (kind === "input_checked" || kind === "output_checked") return [[data.guardrail, kind === "input_checked" ? "input" : "output", data.verdict]];
    if (kind === "moderated") return [[data.model, data.stage, { name: data.violations.length ? "violation" : "success", reason: data.violations.map((each) => each.category).join(", ") }]];
    return [];
  });
  if (!rows.length) return null;
  return section("Guardrails", rows.map(([name, stage, verdict]) => fold(name, [`${stage}: ${verdict.name}`, verdict.name === "success" ? "ok" : "warn"], null, textBlock("Verdict", pretty(verdict)))));
}

/** The steps as bars over the duration of the turn. */
function timeline(steps, duration) {
  const bars = [];
  let asked;
  let number = 0;
  for (const [{ at_us: at }, kind, data] of steps) {
    const label = kind.replaceAll("_", " ");
    if (kind === "request_issued") asked = at;
    else if (kind === "response_received" || kind === "request_failed") bars.push([`model ${++number}`, asked ?? at, at, kind === "request_failed" ? "bad" : "model"]);
    else if (kind === "tool_finished") bars.push([data.result?.toolName || "tool", at - data.duration_us, at, data.result?.isError ? "bad" : "tool"]);
    else if (kind !== "tool_started") bars.push([data.guardrail || label, data.duration_us ? at - data.duration_us : at, at, ""]);
  }
  const percent = (time) => (duration ? Math.min(100, Math.max(0, (time / duration) * 100)) : 0);
  return make("ol", { class: "timeline" }, bars.map(([label, from, to, kind]) => {
    const bar = make("span", { class: `span ${kind}` });
    // Styles of the object model are not inline styles of the document: the policy permits them.
    bar.style.left = `min(${percent(from)}%, calc(100% - 3px))`;
    bar.style.width = `${Math.max(0, percent(to) - percent(from))}%`;
    return make("li", {}, make("span", { class: "label", title: label }, label), make("span", { class: "track", "aria-hidden": "true" }, bar), make("span", { class: "time" }, to > from ? milliseconds(to - from) : `at ${milliseconds(to)}`));
  }));
}

const ROLES = { SYSTEM: "System", USER: "User", AI: "Assistant", TOOL_EXECUTION_RESULT: "Tool", CUSTOM: "Custom" };

function showMemory(memory) {
  const rows = memory.messages.map(({ message, tokens }) => {
    const calls = (message.toolExecutionRequests || []).map((call) => `${call.name}(${call.arguments})`).join("\n");
    const text = [textOf(message), calls].filter(Boolean).join("\n");
    const role = message.type === "TOOL_EXECUTION_RESULT" ? `${ROLES[message.type]}: ${message.toolName}` : ROLES[message.type] || message.type;
    return make("div", { class: "memory-row", role: "listitem" }, make("div", { class: "row" }, make("span", { class: "role" }, role), make("span", { class: "muted" }, `≈ ${tokens} tokens`)), make("div", { class: `text ${calls ? "mono" : ""}`, tabindex: "0", role: "group", "aria-label": role }, text));
  });
  const facts = [["Id", make("span", { class: "mono" }, memory.id)], ["Version", String(memory.version ?? "not stored")], ["Messages", String(memory.messages.length)], ["Estimate", `≈ ${memory.tokens.toLocaleString()} tokens`], ["Open turn", memory.open_turn ? (memory.open_turn.services.length ? "waits for a decision" : "yes") : "no"]];
  find("panel-memory").replaceChildren(make("div", { class: "sections" }, section("Memory in the store", make("dl", { class: "facts" }, facts.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]))), rows.length ? make("div", { role: "list", "aria-label": "Messages in memory" }, rows) : make("p", { class: "muted" }, "No messages.")));
}

function emptyPanel(id, text) {
  find(id).replaceChildren(make("p", { class: "empty" }, text));
}
