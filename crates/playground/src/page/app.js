// The application: state, requests, navigation and dialogs.

const state = { token: location.hash.slice(1), services: [], hasStore: false, conversation: "", turn: null, abort: null, seen: new Map() };

function headers(extra) {
  return { "x-playground-token": state.token, "x-playground-user": encodeURIComponent(find("user").value), ...extra };
}

/** Sends a request, and throws an error with the text of the server if it fails. */
async function request(path, options = {}) {
  const response = await fetch(path, { ...options, headers: headers(options.headers) });
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const message = body.error?.message || `The server answered with status ${response.status}.`;
  throw Object.assign(new Error(message), { status: response.status });
}

const json = async (path) => (await request(path)).json();
const post = (path, body, signal, extra) => request(path, { method: "POST", body: JSON.stringify(body), signal, headers: { "content-type": "application/json", ...extra } });

// Turns

const randomName = () => `${find("user").value.trim() || "me"}:${crypto.getRandomValues(new Uint32Array(1))[0].toString(36)}`;

/**
 * Runs a turn: `text` begins one, `resume` decides about one that waits for `interrupts`, and `pending` shows the calls of
 * one that waits.
 */
async function runTurn({ text, resume, interrupts, pending, service = find("service").value, parent, parts, cards = new Map() }) {
  const abort = new AbortController();
  setRunning(abort);
  const log = find("messages");
  log.querySelector(".empty")?.remove();
  const earlier = log.querySelector("form.approval");
  if (text) log.append(userMessage(text));
  if (!parts) log.append(make("div", { class: "message" }, make("span", { class: "visually-hidden" }, "Assistant: "), parts = make("div", { class: "parts" })));
  scrollToEnd();
  const view = new AnswerView(parts, cards);
  const content = pending ? "pending" : text;
  const messages = content ? [{ id: crypto.randomUUID(), role: "user", content }] : [];
  const input = { threadId: state.conversation, runId: crypto.randomUUID(), messages, resume, state: {}, tools: [], context: [], forwardedProps: {} };
  const extra = { ...(parent && { "x-playground-parent": parent }), ...(pending && { "x-playground-pending": "1" }) };
  try {
    const response = await post(`/ag-ui/${encodeURIComponent(service)}`, input, abort.signal, extra);
    for (const interrupt of interrupts || []) cards.get(interrupt.toolCallId)?.running();
    for await (const event of serverEvents(response)) view.show(event);
    announce(view.failed ? "The turn failed." : view.interrupts ? "The turn waits for your decision." : "The answer is complete.");
  } catch (error) {
    view.append(note(abort.signal.aborted ? "Stopped." : error.message, abort.signal.aborted ? "" : "bad"));
    announce(abort.signal.aborted ? "The turn was stopped." : "The turn failed.");
    // The decision was not accepted, and the turn still waits.
    if (error.status === 400) view.interrupts = interrupts;
  }
  view.end();
  setRunning(null);
  // A message that was refused leaves the turn that waits as it is.
  if (view.finished) earlier?.remove();
  if (view.interrupts) askForDecision(view.interrupts, { service, parts, cards }, !pending);
  await refresh(true);
}

function askForDecision(interrupts, turn, focuses) {
  for (const interrupt of interrupts) turn.cards.get(interrupt.toolCallId)?.set("waits", "warn");
  const form = decisionForm(interrupts, turn.cards, (resume) => runTurn({ ...turn, resume, interrupts }));
  turn.parts.append(form);
  // The first field, or the button. A form that was not asked for does not take the focus.
  if (focuses) (form.querySelector("fieldset :is(input, select, textarea)") || form.querySelector("button.primary")).focus({ preventScroll: true });
  scrollToEnd();
  // The beginning of a form that is higher than the log.
  const hidden = find("log").getBoundingClientRect().top - form.getBoundingClientRect().top;
  if (hidden > 0) find("log").scrollTop -= hidden + 16;
}

function setRunning(abort) {
  state.abort = abort;
  find("stop").hidden = !abort;
  find("send").hidden = Boolean(abort);
  find("log").setAttribute("aria-busy", String(Boolean(abort)));
}

// Conversations

async function refresh(selectNewest) {
  try {
    await Promise.all([showConversations(), showTurns(selectNewest), showStoredMemory()]);
  } catch (error) {
    fail(error);
  }
}

async function showConversations() {
  const conversations = await json("/api/conversations");
  const groups = new Map();
  for (const conversation of conversations) {
    const user = conversation.id.includes(":") ? conversation.id.split(":")[0] : conversation.id;
    groups.set(user, [...(groups.get(user) || []), conversation]);
  }
  find("users").replaceChildren(...[...groups.keys()].map((user) => make("option", { value: user })));
  const own = find("user").value.trim();
  const sorted = [...groups].sort(([a], [b]) => (b === own) - (a === own));
  const row = ({ id, messages, updated_ms: updated, is_open: isOpen }) => make("li", {}, make("button", { type: "button", class: "conversation", "aria-current": String(id === state.conversation), onclick: () => open(id).catch(fail) }, isOpen && make("span", { class: "state" }, "open turn"), make("b", {}, id.split(":").slice(1).join(":") || id), make("span", {}, [messages && `${messages} messages`, minutes(updated)].filter(Boolean).join(" · "))));
  const list = sorted.map(([user, rows]) => make("section", { class: "group" }, make("h3", {}, user), make("ul", {}, rows.map(row))));
  find("conversation-list").replaceChildren(...(list.length ? list : [make("p", { class: "empty" }, "No conversations yet.")]));
}

async function open(id) {
  if (state.abort) return announce("Stop the running turn first.");
  select(id);
  const user = id.includes(":") ? id.split(":")[0] : id;
  find("user").value = user;
  const kept = state.seen.get(id);
  setView("chat");
  find("text").focus();
  if (!state.hasStore) find("messages").replaceChildren(...(kept || []));
  const memory = state.hasStore && (await json(`/api/memory/${encodeURIComponent(id)}`));
  if (memory) showHistory(memory);
  if (memory?.open_turn?.services.length) await showPendingTurn(memory.open_turn.services);
  else await refresh(true);
}

/** Shows the calls of the open turn that wait, in the selected service if that can go on with the turn. */
async function showPendingTurn(services) {
  const service = services.includes(find("service").value) ? find("service").value : services[0];
  find("service").value = service;
  await runTurn({ pending: true, service });
}

/** Uses the storage of the tab, if the browser permits it. */
function inStorage(use) {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}

/** Selects a conversation. The tab selects it again when the page is loaded again. */
function select(id) {
  keepMessages();
  state.conversation = id;
  inStorage((storage) => storage.setItem("conversation", id));
  find("conversation-name").textContent = id;
}

/** Keeps the messages of a page without a store. */
function keepMessages() {
  if (state.conversation && !state.hasStore) state.seen.set(state.conversation, [...find("messages").childNodes]);
}

function begin() {
  if (state.abort) return announce("Stop the running turn first.");
  select(randomName());
  find("messages").replaceChildren(make("p", { class: "empty" }, "Send a message to start a conversation."));
  emptyPanel("panel-turn", "A turn appears here when it has ended.");
  emptyPanel("panel-memory", "No messages.");
  setView("chat");
  refresh(true);
  find("text").focus();
}

// Inspector

async function showTurns(selectNewest) {
  const turns = (await json("/api/turns")).filter((turn) => turn.memory_id === state.conversation || (turn.outer && state.turn?.id === turn.outer));
  const label = (turn) => `${(turn.text || turn.method).slice(0, 60)} · ${turn.outcome} ${clock(turn.started_ms)}`;
  const select = find("turns");
  select.replaceChildren(...turns.map((turn) => make("option", { value: turn.id }, label(turn))));
  select.disabled = !turns.length;
  const selected = selectNewest ? turns[0] : turns.find((turn) => turn.id === state.turn?.id) || turns[0];
  if (selected) {
    select.value = selected.id;
    await inspect(selected.id);
  } else emptyPanel("panel-turn", "A turn appears here when it has ended.");
}

async function inspect(id) {
  state.turn = await json(`/api/turns/${encodeURIComponent(id)}`);
  const repeat = make("button", { type: "button", class: "small", id: "repeat", onclick: askToRepeat, disabled: !state.hasStore }, "Run again");
  const exported = make("button", { type: "button", class: "small", id: "show-export", onclick: showExport }, "Export");
  showTurn(state.turn, [repeat, exported]);
}

async function showStoredMemory() {
  if (!state.hasStore) return emptyPanel("panel-memory", "The playground has no store.");
  if (state.conversation) showMemory(await json(`/api/memory/${encodeURIComponent(state.conversation)}`));
}

// Dialogs

function askToRepeat() {
  const names = new Set(state.turn.record.steps.map(stepOf).filter(([kind]) => kind === "tool_started").map(([, data]) => data.name));
  find("rerun-service").replaceChildren(...state.services.map((name) => make("option", { value: name, selected: name === state.turn.registered }, name)));
  find("rerun-text").value = state.turn.text || "";
  find("rerun-tools").hidden = !names.size;
  find("rerun-names").textContent = `The turn has called: ${[...names].join(", ")}.`;
  find("rerun-agree").checked = false;
  find("rerun-agree").required = names.size > 0;
  find("rerun").showModal();
}

async function repeat() {
  const parent = state.turn.id;
  const [service, text] = [find("rerun-service").value, find("rerun-text").value];
  try {
    const { memory_id: id } = await (await post(`/api/turns/${encodeURIComponent(parent)}/fork`, {})).json();
    await open(id);
    await runTurn({ text, service, parent });
  } catch (error) {
    fail(error);
  }
}

const FORMS = ["test", "cassette", "record"];

async function showExport() {
  const exported = await json(`/api/turns/${encodeURIComponent(state.turn.id)}/export`);
  const show = (form) => {
    find("export-text").textContent = exported[form];
    for (const other of FORMS) find(`export-${other}`).setAttribute("aria-pressed", String(other === form));
  };
  for (const form of FORMS) find(`export-${form}`).onclick = () => show(form);
  show("test");
  find("export").showModal();
}

function fail(error) {
  find("messages").append(note(error.message, "bad"));
  announce(error.message);
}

// Page

function setView(view) {
  find("layout").dataset.view = view;
  for (const button of document.querySelectorAll("header [data-view]")) button.setAttribute("aria-pressed", String(button.dataset.view === view));
}

function setTab(name) {
  for (const other of ["turn", "memory"]) {
    const isSelected = other === name;
    find(`tab-${other}`).setAttribute("aria-selected", String(isSelected));
    find(`tab-${other}`).tabIndex = isSelected ? 0 : -1;
    find(`panel-${other}`).hidden = !isSelected;
  }
}

function grow() {
  const text = find("text");
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight + 2}px`;
}

function listen() {
  const on = (id, event, handler) => find(id).addEventListener(event, handler);
  on("composer", "submit", (event) => {
    event.preventDefault();
    const text = find("text").value;
    if (state.abort || !text.trim()) return;
    find("text").value = "";
    grow();
    runTurn({ text });
  });
  on("text", "input", grow);
  on("text", "keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    find("composer").requestSubmit();
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && !document.querySelector("dialog[open]") && state.abort?.abort());
  on("stop", "click", () => state.abort?.abort());
  on("new", "click", begin);
  on("user", "change", begin);
  on("turns", "change", (event) => inspect(event.target.value).catch(fail));
  for (const button of document.querySelectorAll("header [data-view]")) button.addEventListener("click", () => setView(button.dataset.view));
  for (const name of ["turn", "memory"]) {
    on(`tab-${name}`, "click", () => setTab(name));
    on(`tab-${name}`, "keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      const other = name === "turn" ? "memory" : "turn";
      setTab(other);
      find(`tab-${other}`).focus();
    });
  }
  on("rerun-cancel", "click", () => find("rerun").close());
  document.querySelector("#rerun form").addEventListener("submit", repeat);
  on("export-close", "click", () => find("export").close());
  on("export-copy", "click", () => navigator.clipboard.writeText(find("export-text").textContent).then(() => announce("Copied."), fail));
}

async function start() {
  listen();
  // Another program has printed another address.
  window.addEventListener("hashchange", () => location.reload());
  try {
    const info = await json("/api/info");
    [state.services, state.hasStore] = [info.services, info.has_store];
    find("service").replaceChildren(...info.services.map((name) => make("option", { value: name }, name)));
    const kept = inStorage((storage) => storage.getItem("conversation"));
    const known = kept && (await json("/api/conversations")).some(({ id }) => id === kept);
    if (known) await open(kept);
    else begin();
  } catch (error) {
    fail(error);
  }
}

start();
