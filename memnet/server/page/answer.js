// An answer: what it says first, then its evidence, then how it was found, folded.

import { announce, byId, count, h, marked, shorten, sourceName } from "./dom.js";
import { found } from "./hops.js";
import * as reader from "./reader.js";

const SPANS = new Set(["value", "table"]); // kinds whose short form is a part of a quotation
const SHOWN = 5; // pieces of evidence before "more"
const ITEM = /^\s*(?:[-*+•◦▪‣–]|\(?(\d{1,4})[.)])\s+/;
const MOST_COLUMNS = 4; // of a row that is alone and not turned

/** Spans of an answer in a piece of evidence: of the sentence that is quoted, and of the words. */
function places(answer, item) {
  const quote = answer.quotes.find((one) => one.evidence === item.id);
  const best = answer.shown !== "answer" ? [] : answer.candidates.slice(0, answer.kind === "facts" ? undefined : 1);
  const words = best
    .filter((one) => one.evidence === item.id && one.start !== null)
    .map((one) => ({ start: one.start, end: one.end, name: "short" }));
  const unit = answer.units.find((one) => one.evidence === item.id);
  const shown = quote ?? unit;
  const span = shown ? [shown.start, shown.end] : words.length ? [words[0].start, words[0].end] : [item.start, item.end];
  return { span, words, quote, unit };
}

function confidence(answer) {
  if (answer.confidence === null) return null;
  const percent = Math.round(100 * answer.confidence);
  return h("span", { class: "confidence" },
    h("span", { class: "gauge", "aria-hidden": "true", "--weight": answer.confidence }),
    `${percent >= 90 ? "almost certain" : percent >= 70 ? "likely" : "perhaps"} · ${percent} %`);
}

/** The words that answer, large. */
function headline(answer) {
  if (answer.unknown_words.length) return `The model ${answer.model} does not know: ${answer.unknown_words.join(", ")}.`;
  if (answer.answer === null) return "The memory does not hold the answer.";
  if (answer.shown === "passage") return null;
  if (answer.contradiction) return "The memory says both.";
  if (answer.kind === "facts") return answer.candidates.map((one) => one.text).join(", ");
  if (answer.kind === "yes" || answer.kind === "no") return answer.kind === "yes" ? "Yes" : "No";
  return SPANS.has(answer.kind) && answer.short ? answer.short : null;
}

/** What stands before the quotations: what was computed from them. */
function before(answer) {
  if (!answer.quotes.length || answer.shown !== "answer") return null;
  const text = answer.answer.slice(0, Math.max(0, answer.answer.indexOf(answer.quotes[0].text)));
  const said = text.replace(/^(?:Yes|No): /, "").trim();
  return said && h("p", { class: "text", dir: "auto" }, said);
}

/** The quotations, each with its number in the evidence; rows of one table are together. */
function quotations(answer, open) {
  const items = answer.evidence.map((item) => item.id);
  const cite = (quote) => {
    const number = items.indexOf(quote.evidence);
    return number < 0 ? null
      : h("button", { type: "button", class: "cite", "aria-label": `Evidence ${number + 1}`, onclick: () => open(number) }, String(number + 1));
  };
  const shown = [];
  let rows = [];
  const flush = () => {
    if (rows.length) shown.push(table(rows.flatMap((quote) => quote.rows)), h("p", {}, cite(rows[0])));
    rows = [];
  };
  for (const quote of answer.quotes) {
    const known = rows.flatMap((one) => headersOf(one.rows));
    if (!quote.rows.length || !headersOf(quote.rows).some((one) => known.includes(one))) flush();
    if (quote.rows.length) rows.push(quote);
    else if (answer.kind === "code") shown.push(h("div", {}, h("pre", { class: "text", tabindex: 0, role: "group", "aria-label": "Code" }, quote.text), cite(quote)));
    else shown.push(...lines(answer, quote, cite(quote)));
  }
  flush();
  return shown;
}

/** The lines of a quotation: items as lists with their own numbers, others as a paragraph. */
function lines(answer, quote, cite) {
  const words = answer.candidates.slice(0, 1)
    .filter((one) => one.evidence === quote.evidence && one.start !== null && answer.shown === "answer" && SPANS.has(answer.kind))
    .map((one) => ({ start: one.start, end: one.end, name: "short" }));
  const blocks = [];
  let offset = quote.start;
  for (const line of quote.text.split("\n")) {
    const item = line.match(ITEM);
    const sign = item ? item[0].length : 0;
    const text = marked(line.slice(sign), offset + sign, words);
    const tag = !item ? "p" : item[1] ? "ol" : "ul";
    offset += Array.from(line).length + 1;
    if (blocks.at(-1)?.localName !== tag) blocks.push(h(tag, { class: "text", dir: "auto" }));
    else if (!item) blocks.at(-1).append("\n");
    blocks.at(-1).append(...(item ? [h("li", { value: item[1] }, text)] : text));
  }
  const last = blocks.at(-1);
  if (cite) (last.lastElementChild?.localName === "li" ? last.lastElementChild : last).append(cite);
  return blocks;
}

const headersOf = (rows) => [...new Set(rows.flatMap((row) => row.map((cell) => cell.header)))];

/** Rows under their headers; a line for each cell of a long row that is alone. */
function table(rows) {
  const headers = headersOf(rows);
  const head = (text, scope) => (text ? h("th", { scope }, text) : h("td", {}));
  const cells = (row) => headers.map((header) => {
    const cell = row.find((one) => one.header === header);
    return h("td", { dir: "auto" }, cell?.answers ? h("mark", { class: "short" }, cell.text) : cell?.text);
  });
  const body = rows.length === 1 && headers.length > MOST_COLUMNS
    ? cells(rows[0]).map((cell, index) => h("tr", {}, head(headers[index], "row"), cell))
    : [h("tr", {}, headers.map((one) => head(one, "col"))), ...rows.map((row) => h("tr", {}, cells(row)))];
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Rows of a table" }, h("table", {}, h("tbody", {}, body)));
}

function sides(answer, open) {
  return h("div", { class: "sides" }, answer.quotes.map((quote, index) => {
    const number = answer.evidence.findIndex((item) => item.id === quote.evidence);
    const item = answer.evidence[number];
    return h("figure", {},
      h("blockquote", { class: "text", dir: "auto" }, quote.text),
      h("figcaption", { class: "quiet" }, `${index ? "the other" : "one"} side · `,
        h("button", { type: "button", class: "link", onclick: () => open(number) }, shorten(item?.title || sourceName(quote.source), 80))));
  }));
}

/** A fact as its line, with its values marked where they answer. */
function factItem(answer, item, number, open) {
  const value = item.text.split("\t").at(-1);
  const answers = answer.kind === "facts" && answer.candidates.some((one) => one.text === value);
  const end = item.start + Array.from(item.text).length;
  const spans = answers ? [{ start: end - Array.from(value).length, end, name: "short" }] : [];
  return h("li", { class: "evidence" },
    h("button", { type: "button", class: "title fact text", dir: "auto", onclick: () => open(number) }, marked(item.text, item.start, spans)),
    h("p", { class: "quiet" }, h("bdi", {}, sourceName(item.source)), ` · hop ${item.hop}`));
}

function evidenceItem(answer, item, number, open) {
  if (item.kind === "fact") return factItem(answer, item, number, open);
  const { quote, unit } = places(answer, item);
  const place = item.place && item.place !== item.title ? ` · ${item.place}` : "";
  const title = shorten(item.title || sourceName(item.source), 120);
  return h("li", { class: "evidence" },
    h("button", { type: "button", class: "title", "aria-label": `${title}${place}, hop ${item.hop}: open`, onclick: () => open(number) },
      h("bdi", {}, title), h("span", { class: "quiet" }, `${shorten(place, 80)} · hop ${item.hop}`)),
    quote ? null : h("p", { class: "text", dir: "auto" }, unit?.text ?? shorten(item.text, 240)),
    item.copies.length ? h("p", { class: "quiet" }, `also in ${item.copies.map(copyName).join("; ")}`) : null);
}

function copyName(copy) {
  return [sourceName(copy.source), copy.place].filter(Boolean).join(", ");
}

/** A link to the graph around what the answer's facts are about. */
function factsLink(answer) {
  const facts = answer.evidence.filter((item) => item.kind === "fact").map((item) => item.text.split("\t"));
  if (!facts.length) return null;
  const path = answer.kind === "facts" ? facts.slice(0, 12) : facts.slice(0, 1);
  return h("p", {}, h("a", { href: `#/facts?${new URLSearchParams({ entity: path[0][0], path: answer.kind === "facts" ? JSON.stringify(path) : "" })}` },
    `Facts around ${shorten(path[0][0], 60)}`));
}

/** The evidence without the second slot of a fact, which says the same. */
function distinct(evidence) {
  const seen = new Set();
  return evidence.filter((item) => {
    const key = JSON.stringify([item.source, item.start, item.end, item.text]);
    return !seen.has(key) && seen.add(key);
  });
}

/** Shows an answer in place of the one before. */
export function show(given) {
  const answer = { ...given, evidence: distinct(given.evidence) };
  const opener = (number) => {
    const item = answer.evidence[number];
    if (!item) return;
    const { span, words } = places(answer, item);
    const button = document.querySelectorAll(".evidence > button")[number];
    const current = document.querySelector(".evidence[aria-current]");
    current?.removeAttribute("aria-current");
    button?.parentElement.setAttribute("aria-current", "true");
    reader.open(item.source, span, words, button, { place: item.place });
  };
  const openUnit = (source, span, words, from) => reader.open(source, span, words, from);
  const title = headline(answer);
  const texts = answer.contradiction && answer.quotes.length > 1 ? sides(answer, opener) : quotations(answer, opener);
  const plain = !answer.quotes.length && !title ? answer.answer : null;
  const list = h("ol", { class: "plain list" },
    answer.evidence.map((item, index) => evidenceItem(answer, item, index, opener)));
  const items = [...list.children];
  const weak = items.filter((_, index) => !answer.carrying.includes(answer.evidence[index].id));
  const strong = items.filter((item) => !weak.includes(item));
  weak.forEach((item) => item.classList.add("weak"));
  const shown = new Set(strong.slice(0, SHOWN));
  const hidden = items.filter((item) => !shown.has(item));
  hidden.forEach((item) => (item.hidden = true));
  const more = hidden.length
    ? h("button", { type: "button", class: "light", onclick: (event) => {
        hidden.forEach((item) => (item.hidden = false));
        hidden[0].querySelector("button").focus();
        event.currentTarget.remove();
      } }, `${hidden.length} more${hidden.every((item) => weak.includes(item)) ? " of less weight" : ""}`)
    : null;
  const details = found(given, openUnit);
  byId("answer").replaceChildren(
    h("article", { class: answer.abstained ? "abstained" : "", "aria-label": "Answer" },
      title ? h("h2", { class: "headline", dir: "auto" }, shorten(title, 600)) : null,
      answer.shown === "passage" ? h("p", { class: "quiet" }, "Not sure; this may answer:") : null,
      h("div", { class: title || answer.shown === "passage" ? "quotes" : "quotes large" }, before(answer), texts, plain ? h("p", { class: "text" }, plain) : null),
      answer.contradiction ? h("p", {}, answer.answer.split("\n").at(-1)) : null,
      answer.hops.length || !answer.abstained ? h("p", { class: "quiet meta" }, answer.abstained ? null : confidence(answer),
        h("span", {}, `${Math.round(answer.elapsed_ms)} ms`)) : null,
      answer.unseen_relations.length ? h("p", { class: "quiet" }, `The model never saw these relations: ${answer.unseen_relations.join(", ")}.`) : null,
      answer.notes.map((note) => h("p", { class: "quiet" }, note)),
      strong.length ? h("h2", { class: "minor" }, answer.abstained ? "Nearest to the question" : "Evidence")
        : answer.answer === null ? h("p", {}, "Nothing similar is stored.") : null,
      list, more, factsLink(answer), details),
  );
  announce(`${title ?? answer.answer}. ${answer.abstained ? "" : (answer.confidence === null ? "" : `${Math.round(100 * answer.confidence)} percent confident. `)}${count(answer.evidence.length, "piece")} of evidence.`);
}

/** Moves the focus to the next (1) or previous (-1) piece of evidence; an open source follows. */
export function move(step) {
  const buttons = [...document.querySelectorAll(".evidence:not([hidden]) > button")];
  if (!buttons.length) return;
  const focused = buttons.indexOf(document.activeElement);
  const current = focused >= 0 ? focused : buttons.findIndex((one) => one.parentElement.hasAttribute("aria-current"));
  const next = current < 0 ? (step > 0 ? 0 : buttons.length - 1) : Math.max(0, Math.min(buttons.length - 1, current + step));
  buttons[next].focus();
  buttons[next].scrollIntoView({ block: "nearest" });
}
