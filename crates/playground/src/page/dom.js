"use strict";
// Small parts that the rest of the script shares. All text becomes text nodes.

const find = (id) => document.getElementById(id);

/** Creates an element with properties and children: nodes, texts, or nothing. */
function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** Returns JSON with indentation, or the text itself if it is not JSON. */
function pretty(value) {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}

const textBlock = (label, text) => make("pre", { tabindex: "0", role: "group", "aria-label": label }, text);

function milliseconds(microseconds) {
  if (microseconds < 1000) return `${microseconds} µs`;
  if (microseconds < 10_000) return `${(microseconds / 1000).toFixed(1)} ms`;
  if (microseconds < 1_000_000) return `${Math.round(microseconds / 1000)} ms`;
  return `${(microseconds / 1_000_000).toFixed(2)} s`;
}

const clock = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

const minutes = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });

/** Announces a text to screen readers. */
function announce(text) {
  find("status").textContent = text;
}

/** The texts of the contents of a message, joined. Media are named. */
function textOf(message) {
  if (message.text !== undefined && message.text !== null) return message.text;
  return (message.contents || []).map((part) => part.text ?? `[${String(part.type || "media").toLowerCase()}]`).join("\n");
}
