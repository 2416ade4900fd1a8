// A text with its form: headings, lists, tables, code and messages, as nodes. Nothing is parsed as
// markup: what a document holds becomes text nodes, and each word keeps its place in the source.

import { codePoints, h, marked } from "./dom.js";

const ITEM = /^([ \t]*)(?:[-*+•◦▪‣–]|\(?(\d{1,4})[.)])[ \t]+/;
const HEADING = /^(#{1,6})[ \t]+(?=\S)/;
const FENCE = /^[ \t]{0,3}(```|~~~)/;
const QUOTE = /^>[ \t]?/;
const RULE = /^\|?[ \t]*:?-{3,}:?[ \t]*(?:\|[ \t]*:?-{3,}:?[ \t]*)*\|?$/;
const BAR = / \| |^\| | \|$/;
// Marks of code in a line: a text that was a block of code keeps its lines, but no sign of it.
const CODE = /[;{}\\]$|^\s*(?:\$ |>>> |#!|\/\/|@\w+|import |from \w+ import|def |class |return\b|const |let |var |function\b|if \(|for \(|while \(|<\/?\w|[A-Z_]{3,}=)|=>|\w\(\S*\)|[ ^]--?\w[\w-]*|\w+ ?= ?["'\d[{]|^\s*[\w.-]+: ["\d[{]/;
const PROSE = /^\p{Lu}.*[.!?:]$/u;
const CODE_FILE = /\.(?:py|js|mjs|ts|tsx|jsx|java|kt|c|h|cc|cpp|hpp|cs|go|rs|rb|php|swift|scala|lua|r|sh|bash|ps1|sql|css|toml|ya?ml|ini|cfg|json|xml)$/i;
const INLINE = /\*\*(?=\S)([^*\n]{1,300})\*\*|`([^`\n]{1,200})`|\[([^\]\n]{1,200})\]\((https?:\/\/[^\s()]{1,500})\)|(https?:\/\/[^\s<>"'()\]]{1,500}[^\s<>"'()\].,;:!?])/g;

/** Gives the offset in the source of each later place in a text; places must rise. */
function places(text, start) {
  let unit = 0;
  let point = start;
  return (to) => {
    point += Array.from(text.slice(unit, to)).length;
    unit = to;
    return point;
  };
}

/** A link that leaves the page only when it is followed, and says where it leads. */
const link = (address, ...content) =>
  h("a", { href: address, title: address, target: "_blank", rel: "noopener noreferrer" }, ...content);

/** Nodes of a line: bold, code and links as such, spans marked. */
function inline(text, start, spans) {
  const nodes = [];
  const at = places(text, start);
  let last = 0;
  const plain = (end) => {
    if (end > last) nodes.push(...marked(text.slice(last, end), at(last), spans));
    last = end;
  };
  for (const found of text.matchAll(INLINE)) {
    const [whole, bold, code, named, address, bare] = found;
    const inner = bold ?? code ?? named ?? bare;
    plain(found.index);
    const first = found.index + whole.indexOf(inner);
    const content = marked(inner, at(first), spans);
    nodes.push(bold ? h("strong", {}, content) : code ? h("code", {}, content) : link(address ?? bare, content));
    last = found.index + whole.length;
  }
  plain(text.length);
  return nodes;
}

/** The cells of a row, each with its place in it. */
function cells(line) {
  const found = [];
  let at = 0;
  for (const part of line.split("|")) {
    found.push({ text: part.trim(), at: at + part.length - part.trimStart().length });
    at += part.length + 1;
  }
  if (found.length > 2 && !found[0].text && line.trimStart().startsWith("|")) found.shift();
  if (found.length > 1 && !found.at(-1).text && line.trimEnd().endsWith("|")) found.pop();
  return found;
}

function looksLikeCode(lines) {
  const hits = lines.filter((line) => CODE.test(line)).length;
  return hits > 0 && 2 * hits >= lines.length && !lines.some((line) => PROSE.test(line));
}

/** The lines of a text in groups that are shown together. */
function group(text, { headings, days, rows, isCode }) {
  const groups = [];
  let fenced = null; // the sign that ends a block of code
  let code = null; // that block
  let offset = 0;
  for (const line of text.split("\n")) {
    const here = { line, at: offset };
    offset += line.length + 1;
    if (days.has(here.at)) groups.push({ kind: "day", lines: [{ ...here, line: days.get(here.at) }] });
    const last = groups.at(-1);
    if (fenced) {
      if (line.trim().startsWith(fenced)) fenced = null;
      else code.lines.push(here);
    } else if (rows.has(here.at)) {
      const row = rows.get(here.at);
      const known = last?.kind === "record" ? last.headers : [];
      if (row.some(({ header }) => known.includes(header))) last.lines.push(here);
      else groups.push({ kind: "record", lines: [here], headers: [] });
      insert(groups.at(-1).headers, row.map(({ header }) => header));
    } else if (isCode) {
      if (last) last.lines.push(here);
      else groups.push({ kind: "code", lines: [here] });
    } else if (FENCE.test(line)) {
      fenced = line.match(FENCE)[1];
      groups.push((code = { kind: "code", lines: [] }));
    } else if (!line.trim()) {
      groups.push({ kind: "none", lines: [] });
    } else {
      const kind = headings.has(here.at) || HEADING.test(line) ? "heading"
        : QUOTE.test(line) ? "quote" : ITEM.test(line) ? "item" : BAR.test(line) || (last?.kind === "row" && RULE.test(line.trim())) ? "row"
        : last?.kind === "item" && /^\s{2,}/.test(line) ? "item" : "text";
      if (last && last.kind === kind && kind !== "heading") last.lines.push(here);
      else groups.push({ kind, lines: [here] });
    }
  }
  return groups.filter((one) => one.lines.length);
}

/** Adds headers of a row to those of its table, each behind the one before it. */
function insert(headers, more) {
  for (const [index, header] of more.entries()) {
    if (!headers.includes(header)) headers.splice(index ? headers.indexOf(more[index - 1]) + 1 : 0, 0, header);
  }
}

/** Rows whose cells name their columns, under these; `cellOf` gives the nodes of a cell. */
export function records(rows, headers, cellOf) {
  const head = (text) => (text ? h("th", { scope: "col" }, text) : h("td", {}));
  return scrolled("Rows of a table", h("table", { dir: "auto" }, h("tbody", {},
    h("tr", {}, headers.map(head)),
    rows.map((row) => h("tr", {}, headers.map((header) => h("td", {}, row.filter((one) => one.header === header).flatMap((one, index) => [index ? "; " : "", ...cellOf(one)]))))))));
}

/** Rows under their header; a row alone that has many cells is turned. */
function table(lines, nodesOf) {
  const rows = lines.filter(({ line }) => !RULE.test(line.trim()));
  const parts = rows.map(({ line, at }) => cells(line).map((cell) => ({ ...cell, at: at + cell.at })));
  const cell = (tag, one, scope) => h(tag, { scope }, nodesOf(one.text, one.at));
  const hasHeader = rows.length > 1 && parts[0].every((one) => one.text);
  return scrolled("Rows of a table", h("table", { dir: "auto" }, h("tbody", {}, parts.map((row, number) =>
    h("tr", {}, row.map((one) => (hasHeader && !number ? cell("th", one, "col") : cell("td", one))))))));
}

/** A wide thing in a frame that scrolls sideways, which the keyboard reaches. */
export const scrolled = (label, ...children) =>
  h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label }, ...children);

/**
 * Nodes of a text, block by block.
 * @param {string} text
 * @param {number} start its offset in the source, in code points
 * @param {object[]} spans to mark, as `marked` takes them
 * @param {{headings?: number[][], days?: Array[], rows?: object[][], name?: string, speakers?: string[], code?: boolean}} known
 *   of its source: headings and days with their offsets, rows as cells, the name of its file, who speaks in it; whether it is code
 */
export function structured(text, start, spans, known = {}) {
  const unit = codePoints(text);
  const headings = new Set((known.headings ?? []).map(([offset]) => unit(offset - start)));
  const days = new Map((known.days ?? []).map(([offset, day]) => [unit(offset - start), day]));
  const isCode = known.code || CODE_FILE.test(known.name ?? "");
  const rows = new Map((isCode ? [] : known.rows ?? []).map((row) => [text.lastIndexOf("\n", unit(row[0].start - start) - 1) + 1, row]));
  const speakers = new Set(known.speakers ?? []);
  const at = places(text, start);
  const nodesOf = (part, from) => inline(part, at(from), spans);
  const paragraph = (lines) => {
    if (speakers.size) return lines.map((one) => message(one, speakers, nodesOf));
    return [h("p", { dir: "auto" }, lines.map(({ line, at: from }, number) => [number ? "\n" : "", ...nodesOf(line, from)]))];
  };
  return group(text, { headings, days, rows, isCode }).flatMap(({ kind, lines, headers }) => {
    if (kind === "day") return [h("h3", { class: "minor" }, lines[0].line)];
    if (kind === "record") return [records(lines.map((one) => rows.get(one.at)), headers, (cell) => marked(cell.text, cell.start, spans))];
    const plain = lines.map((one) => one.line);
    const whole = plain.join("\n");
    if (kind === "code" || (kind === "text" && !speakers.size && looksLikeCode(plain))) {
      return [h("pre", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Code" }, marked(whole, at(lines[0].at), spans, "\t"))];
    }
    if (kind === "heading") {
      const [{ line, at: from }] = lines;
      const sign = headings.has(from) ? 0 : line.match(HEADING)[0].length;
      return [h("h3", { dir: "auto" }, nodesOf(line.slice(sign), from + sign))];
    }
    if (kind === "row") return lines.length > 1 || cells(plain[0]).length > 2 ? [table(lines, nodesOf)] : paragraph(lines);
    if (kind === "item") return list(lines, nodesOf);
    if (kind === "quote") {
      return [h("blockquote", { dir: "auto" }, lines.map(({ line, at: from }) => {
        const sign = line.match(QUOTE)[0].length;
        return h("p", {}, nodesOf(line.slice(sign), from + sign));
      }))];
    }
    return paragraph(lines);
  });
}

/** Items as lists with their own numbers; deeper ones are set in. */
function list(lines, nodesOf) {
  const lists = [];
  for (const { line, at } of lines) {
    const item = line.match(ITEM);
    if (!item) {
      lists.at(-1).lastElementChild.append(" ", ...nodesOf(line.trimStart(), at + line.length - line.trimStart().length));
      continue;
    }
    const tag = item[2] ? "ol" : "ul";
    const depth = Math.min(4, Math.floor(item[1].replaceAll("\t", "  ").length / 2));
    if (lists.at(-1)?.localName !== tag) lists.push(h(tag, { dir: "auto" }));
    lists.at(-1).append(h("li", { value: item[2], "--depth": depth || undefined }, nodesOf(line.slice(item[0].length), at + item[0].length)));
  }
  return lists;
}

/** A line of a chat: who speaks before what is said. */
function message({ line, at }, speakers, nodesOf) {
  const colon = line.indexOf(": ");
  if (colon < 1 || !speakers.has(line.slice(0, colon))) return h("p", { dir: "auto" }, nodesOf(line, at));
  const speaker = h("strong", { class: "speaker" }, nodesOf(line.slice(0, colon), at));
  return h("p", { class: "message", dir: "auto" }, speaker, " ", nodesOf(line.slice(colon + 2), at + colon + 2));
}
