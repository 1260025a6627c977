// Decisions about a turn that waits: approvals of tool calls, and answers to questions of tools.

/** Asks for everything that a turn waits for. `decide` receives the replies. */
function decisionForm(interrupts, cards, decide) {
  const items = interrupts.map((interrupt) => decision(interrupt, cards.get(interrupt.toolCallId)));
  const only = items.length === 1 ? items[0] : undefined;
  const submit = (replies) => {
    if (replies.includes(undefined)) return;
    form.remove();
    decide(replies);
  };
  const send = make("button", { type: "submit", class: "primary" }, only ? only.verbs[0] : "Continue");
  const refuse = only?.verbs[1] && make("button", { type: "button", onclick: () => submit([only.refuse()]) }, only.verbs[1]);
  const choices = items.map((item) => (only ? undefined : choice(item)));
  for (const [index, item] of items.entries()) {
    // Enter in the reason of a denial denies.
    item.reason?.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      if (only) submit([item.refuse()]);
      else choices[index].refused();
    });
  }
  const blocks = items.map((item, index) => make("div", { class: "decision" }, make("p", {}, item.message), item.content, choices[index]?.element));
  const form = make("form", { class: "approval", "aria-label": "Decision" }, make("h3", {}, "The turn waits for you"), blocks, make("div", { class: "row" }, send, refuse));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(items.map((item, index) => (choices[index]?.isRefused() ? item.refuse() : item.accept())));
  });
  return form;
}

/** Lets the user choose one of the two verbs of a decision. The fields of a refused one need no values. */
function choice(item) {
  if (!item.verbs[1]) return undefined;
  const name = `decision-${crypto.randomUUID()}`;
  const [accept, refuse] = [true, false].map((checked) => make("input", { type: "radio", name, checked }));
  const update = () => { if (item.fields) item.fields.disabled = refuse.checked; };
  for (const input of [accept, refuse]) input.addEventListener("change", update);
  return {
    element: make("div", { class: "row", role: "radiogroup", "aria-label": item.label }, make("label", { class: "check" }, accept, item.verbs[0]), make("label", { class: "check" }, refuse, item.verbs[1])),
    isRefused: () => refuse.checked,
    refused: () => {
      refuse.checked = true;
      update();
    },
  };
}

function decision(interrupt, card) {
  const reply = (payload) => ({ interruptId: interrupt.id, status: "resolved", payload });
  const common = { label: interrupt.message, message: inline(interrupt.message) };
  if (interrupt.reason === "tool_call") return { ...common, ...approval(card, reply) };
  if (interrupt.reason !== "input_required") return { ...common, verbs: ["Look again"], accept: () => reply({}) };
  // The protocol has no word for a refusal: the tool receives that the question was cancelled.
  const refuse = () => ({ interruptId: interrupt.id, status: "cancelled" });
  const url = interrupt.metadata?.url;
  // The message is the text of a server: it has no marks.
  if (url) return { ...common, message: interrupt.message, content: make("p", {}, link(url, url, 0)), verbs: ["Continue", "Decline"], accept: () => reply(null), refuse };
  return { ...common, message: interrupt.message, ...questionForm(interrupt.responseSchema, reply), refuse };
}

function approval(card, reply) {
  const original = pretty(card?.arguments || "{}");
  const edited = make("textarea", { rows: String(Math.min(8, original.split("\n").length)), "aria-label": `Arguments of ${card?.name}`, spellcheck: "false" }, original);
  const reason = make("input", { "aria-label": "Reason of a denial", placeholder: "Reason, if you deny" });
  const problem = make("p", { class: "state bad", role: "alert" });
  const accept = () => {
    if (edited.value === original) return reply({ approved: true });
    try {
      return reply({ approved: true, editedArgs: JSON.parse(edited.value) });
    } catch (error) {
      problem.textContent = `The arguments are not JSON: ${error.message}`;
      edited.focus();
      return undefined;
    }
  };
  const refuse = () => reply(reason.value.trim() ? { approved: false, reason: reason.value } : { approved: false });
  return { content: [edited, reason, problem], verbs: ["Approve", "Deny"], reason, accept, refuse };
}

/** The fields of a question, by the schema of its answer. */
function questionForm(schema, reply) {
  // The schema is the text of a server, too.
  const required = new Set(Array.isArray(schema?.required) ? schema.required : []);
  const properties = schema?.properties instanceof Object ? schema.properties : {};
  // The members of an object have no order.
  const names = [...[...required].filter((name) => name in properties), ...Object.keys(properties).filter((name) => !required.has(name))];
  const fields = names.map((name) => {
    try {
      return [name, formField(name, properties[name], required.has(name))];
    } catch {
      return [name, jsonField(name, undefined, required.has(name))];
    }
  });
  const problem = make("p", { class: "state bad", role: "alert" });
  const accept = () => {
    const values = [];
    for (const [name, field] of fields) {
      try {
        const value = field.value();
        if (value !== undefined) values.push([name, value]);
      } catch (error) {
        problem.textContent = `${name} is not JSON: ${error.message}`;
        return undefined;
      }
    }
    return reply(Object.fromEntries(values));
  };
  const group = make("fieldset", { class: "fields" }, make("legend", { class: "visually-hidden" }, "Answer"), fields.map(([, field]) => field.element));
  return { content: [group, problem], fields: group, verbs: ["Answer", "Decline"], accept };
}

/** An input for a value with a schema. Its value is `undefined` if an optional field is empty. */
function formField(name, schema, required) {
  const title = schema.title || name;
  const hintId = schema.description && `hint-${crypto.randomUUID()}`;
  const hint = hintId && make("span", { class: "hint", id: hintId }, schema.description);
  const common = { required, "aria-describedby": hintId };
  const labelled = (input) => make("label", { class: "field block" }, make("span", {}, title, required ? null : " (optional)"), input, hint);
  const options = choicesOf(schema);
  if (options) {
    const blank = required ? [] : [make("option", { value: "" }, "")];
    const select = make("select", common, blank, options.map(([value, text], index) => make("option", { value: String(index), selected: value === schema.default }, text)));
    return { element: labelled(select), value: () => options[select.value]?.[0] };
  }
  if (schema.type === "array" && choicesOf(schema.items || {})) return listField(title, schema, hint);
  if (schema.type === "boolean") {
    const input = make("input", { type: "checkbox", checked: schema.default === true, "aria-describedby": hintId });
    return { element: make("div", {}, make("label", { class: "check" }, input, title), hint), value: () => input.checked };
  }
  if (schema.type === "integer" || schema.type === "number") {
    const input = make("input", { ...common, type: "number", step: schema.type === "integer" ? "1" : "any", min: schema.minimum?.toString(), max: schema.maximum?.toString(), value: schema.default?.toString() });
    return { element: labelled(input), value: () => (input.value === "" ? undefined : Number(input.value)) };
  }
  if (schema.type === "string") {
    const type = { email: "email", uri: "url", date: "date" }[schema.format] || "text";
    const input = make("input", { ...common, type, minlength: schema.minLength?.toString(), maxlength: schema.maxLength?.toString(), value: schema.default, autocomplete: "off" });
    return { element: labelled(input), value: () => (input.value === "" && !required ? undefined : input.value) };
  }
  return jsonField(title, schema.default, required);
}

/** An input for JSON. */
function jsonField(title, initial, required) {
  const input = make("textarea", { required, rows: "3", class: "mono", spellcheck: "false" }, initial === undefined ? "" : JSON.stringify(initial));
  const element = make("label", { class: "field block" }, make("span", {}, `${title} (JSON)`), input);
  return { element, value: () => (input.value.trim() ? JSON.parse(input.value) : undefined) };
}

/** A list of values that are chosen from several. */
function listField(title, schema, hint) {
  const options = choicesOf(schema.items);
  const boxes = options.map(([value, text]) => {
    const box = make("input", { type: "checkbox", checked: Boolean(schema.default?.includes(value)) });
    return [value, box, make("label", { class: "check" }, box, text)];
  });
  const element = make("fieldset", { class: "list" }, make("legend", {}, title), boxes.map(([, , label]) => label), hint);
  return { element, value: () => boxes.filter(([, box]) => box.checked).map(([value]) => value) };
}

/** Returns the values that a schema permits, each with its text. */
function choicesOf(schema) {
  const titled = schema.oneOf || schema.anyOf;
  if (titled?.every((option) => "const" in option)) return titled.map((option) => [option.const, option.title || String(option.const)]);
  return schema.enum?.map((value, index) => [value, schema.enumNames?.[index] || String(value)]);
}
