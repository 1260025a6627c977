// Markdown to DOM nodes. Only text nodes and elements of a fixed set are created; nothing is loaded.

/** Longest text that is read as Markdown. Longer ones are shown as they are. */
const LONGEST_MARKDOWN = 200_000;
/** Longest paragraph whose marks are read. */
const LONGEST_PARAGRAPH = 20_000;
const MAX_DEPTH = 8;

function markdown(text) {
  const root = make("div", { class: "markdown" });
  if (text.length > LONGEST_MARKDOWN) root.append(make("div", { class: "plain", tabindex: "0", role: "group", "aria-label": "Long text" }, text));
  else root.append(...blocks(text.split(/\r?\n/), 0));
  return root;
}

function blocks(lines, depth) {
  const nodes = [];
  let paragraph = [];
  const flush = () => {
    if (paragraph.length) nodes.push(make("p", {}, inline(paragraph.join("\n"))));
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    const fence = /^ {0,3}(`{3,}|~{3,})/.exec(line);
    if (fence) {
      flush();
      const end = lines.findIndex((other, index) => index > at && other.trim().startsWith(fence[1]) && /^[`~]+$/.test(other.trim()));
      const stop = end < 0 ? lines.length : end;
      nodes.push(make("pre", { tabindex: "0", role: "group", "aria-label": "Code" }, make("code", {}, lines.slice(at + 1, stop).join("\n"))));
      at = stop;
    } else if (!line.trim()) flush();
    else if (/^ {0,3}#{1,6}\s/.test(line)) {
      flush();
      nodes.push(make("h4", {}, inline(line.replace(/^[ #]+/, ""))));
    } else if (/^ {0,3}([-*_])( *\1){2,}\s*$/.test(line)) {
      flush();
      nodes.push(make("hr"));
    } else if (depth < MAX_DEPTH && /^ {0,3}>/.test(line)) {
      flush();
      const end = extent(lines, at, (other) => /^ {0,3}>/.test(other));
      nodes.push(make("blockquote", {}, blocks(lines.slice(at, end).map((other) => other.replace(/^ {0,3}> ?/, "")), depth + 1)));
      at = end - 1;
    } else if (depth < MAX_DEPTH && item(line)) {
      flush();
      const end = extent(lines, at, (other, index) => item(other) || /^\s+\S/.test(other) || (!other.trim() && index + 1 < lines.length && (item(lines[index + 1]) || /^ {2,}\S/.test(lines[index + 1]))));
      nodes.push(list(lines.slice(at, end), depth));
      at = end - 1;
    } else if (line.includes("|") && at + 1 < lines.length && /^[\s|:-]*-[\s|:-]*$/.test(lines[at + 1]) && lines[at + 1].includes("|")) {
      flush();
      const end = extent(lines, at + 2, (other) => other.includes("|"));
      nodes.push(table(lines[at], lines.slice(at + 2, end)));
      at = end - 1;
    } else paragraph.push(line);
  }
  flush();
  return nodes;
}

/** Returns the index after the lines that belong together. */
function extent(lines, from, belongs) {
  let end = from;
  while (end < lines.length && belongs(lines[end], end)) end++;
  return end;
}

const item = (line) => /^( {0,3})([-*+]|\d{1,9}[.)])\s+/.exec(line);

function list(lines, depth) {
  const first = item(lines[0]);
  const isOrdered = /\d/.test(first[2]);
  const start = isOrdered ? parseInt(first[2], 10) : 1;
  const element = make(isOrdered ? "ol" : "ul", { start: isOrdered && start !== 1 ? String(start) : undefined });
  let current = [];
  const flush = () => {
    if (!current.length) return;
    const inner = blocks(current, depth + 1);
    // A short item needs no paragraph.
    const isTight = inner[0]?.tagName === "P";
    element.append(make("li", {}, isTight ? [...inner[0].childNodes] : inner[0], inner.slice(1)));
    current = [];
  };
  for (const line of lines) {
    const mark = item(line);
    if (mark && mark[1].length <= first[1].length) {
      flush();
      current = [line.slice(mark[0].length)];
    } else current.push(line.replace(/^ {1,4}/, ""));
  }
  flush();
  return element;
}

function table(head, rows) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const row = (line, tag) => make("tr", {}, cells(line).map((cell) => make(tag, {}, inline(cell))));
  const body = make("tbody", {}, rows.map((line) => row(line, "td")));
  return make("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" }, make("table", {}, make("thead", {}, row(head, "th")), body));
}

const MARKS = /(`+)([^`]|[^`][^]*?[^`])\1(?!`)|!\[([^\]\n]{0,1000})\]\(([^()\s]{0,2000})[^()\n]{0,500}\)|\[([^\]\n]{1,1000})\]\(([^()\s]{0,2000})[^()\n]{0,500}\)|\*\*(\S|\S[^]{0,5000}?\S)\*\*|\*([^\s*]|[^\s*][^*]{0,5000}?[^\s*])\*|\b_([^\s_]|[^\s_][^_]{0,5000}?[^\s_])_\b|~~([^~]{1,5000})~~|(https?:\/\/[^\s<>()"'`*]{1,2000}[^\s<>()"'`*.,;:!?])/;

function inline(text, depth = 0) {
  const nodes = [];
  if (text.length > LONGEST_PARAGRAPH || depth > MAX_DEPTH) return [text];
  let rest = text;
  for (let found = MARKS.exec(rest); found; found = MARKS.exec(rest)) {
    const [all, , code, alternative, image, label, target, strong, emphasis, underscored, struck, address] = found;
    if (found.index) nodes.push(rest.slice(0, found.index));
    if (code !== undefined) nodes.push(make("code", {}, code));
    // Images are not loaded: their address could carry the conversation away.
    else if (image !== undefined) nodes.push(`[image: ${alternative}] `, make("span", { class: "address" }, `(${image})`));
    else if (label !== undefined) nodes.push(...link(label, target, depth));
    else if (strong !== undefined) nodes.push(make("strong", {}, inline(strong, depth + 1)));
    else if (emphasis ?? underscored) nodes.push(make("em", {}, inline(emphasis ?? underscored, depth + 1)));
    else if (struck !== undefined) nodes.push(make("s", {}, inline(struck, depth + 1)));
    else nodes.push(...link(address, address, depth));
    rest = rest.slice(found.index + all.length);
  }
  if (rest) nodes.push(rest);
  return nodes;
}

/** A link shows its whole address. Other schemes than those of web pages and mail are text. */
function link(label, target, depth) {
  const shown = label === target ? [] : [" ", make("span", { class: "address" }, `(${target})`)];
  if (!/^(https?:\/\/|mailto:)/i.test(target)) return [...inline(label, depth + 1), ...shown];
  const content = label === target ? [label] : inline(label, MAX_DEPTH);
  return [make("a", { href: target, target: "_blank", rel: "noopener noreferrer" }, content), ...shown];
}
