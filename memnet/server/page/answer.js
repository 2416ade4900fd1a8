// An answer: what it says first, then its evidence, then how it was found, folded.

import { announce, byId, count, distinctNames, h, marked, saidBy, shorten, sourceName, whereabouts } from "./dom.js";
import { found } from "./found.js";
import * as reader from "./reader.js";
import { records, scrolled, structured } from "./text.js";

const SPANS = new Set(["value", "table"]); // kinds whose short form is a part of a quotation
const SHOWN = 5; // pieces of evidence before "more"
const NEAREST = 3; // where there is no answer
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
  return { span, words, quote };
}

/** How sure an answer is: what its type, its colour and its words say. */
function sureness(answer) {
  if (answer.shown !== "answer") return answer.shown;
  const percent = Math.round(100 * answer.confidence); // as it is shown beside the words
  return answer.confidence === null || percent >= 90 ? "sure" : percent >= 70 ? "likely" : "perhaps";
}

function confidence(answer) {
  if (answer.confidence === null || answer.shown === "nothing") return null;
  const percent = Math.round(100 * answer.confidence);
  const words = answer.shown === "passage" ? "not sure" : { sure: "almost certain", likely: "likely", perhaps: "perhaps" }[sureness(answer)];
  return h("span", { class: "confidence" },
    h("span", { class: "gauge", "aria-hidden": "true", "--weight": answer.confidence }), `${words} · ${percent} %`);
}

/** The words that answer, large. */
function headline(answer) {
  if (answer.unknown_words.length) return `The model ${answer.model} does not know: ${answer.unknown_words.join(", ")}.`;
  if (answer.answer === null) return "The memory does not hold the answer.";
  if (answer.shown !== "answer") return null;
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
  return said && said !== answer.short ? h("p", { class: "text", dir: "auto" }, said) : null;
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
    else shown.push(h("div", { class: "quote" }, lines(answer, quote, items.indexOf(quote.evidence), cite(quote))));
  }
  flush();
  return shown;
}

/** The lines of a quotation with their form: paragraphs, lists, code; who said it, and when. */
function lines(answer, quote, number, cite) {
  const words = answer.candidates.slice(0, 1)
    .filter((one) => one.evidence === quote.evidence && one.start !== null && answer.shown === "answer" && SPANS.has(answer.kind))
    .map((one) => ({ start: one.start, end: one.end, name: "short" }));
  const item = answer.evidence[number];
  const said = saidBy(item);
  const spoken = said && quote.text.startsWith(`${said.speaker}: `) ? said.speaker.length + 2 : 0;
  const text = quote.text.slice(spoken);
  const code = answer.kind === "code" && !said;
  const nodes = structured(text, quote.start + Array.from(quote.text.slice(0, spoken)).length, words, { code, name: item?.source });
  const last = nodes.at(-1);
  if (cite && last) {
    if (last.matches("p, h3")) last.append(cite);
    else if (last.matches("ol, ul")) last.lastElementChild.append(cite);
    else nodes.push(h("p", {}, cite));
  }
  if (said) nodes.unshift(h("p", { class: "quiet said" }, h("strong", {}, h("bdi", {}, said.speaker)), said.day ? ` · ${said.day}` : ""));
  return nodes;
}

const headersOf = (rows) => [...new Set(rows.flatMap((row) => row.map((cell) => cell.header)))];

/** Rows under their headers; a line for each cell of a long row that is alone. */
function table(rows) {
  const headers = headersOf(rows);
  const nodesOf = (cell) => [cell.answers ? h("mark", { class: "short" }, cell.text) : cell.text];
  if (rows.length > 1 || headers.length <= MOST_COLUMNS) return records(rows, headers, nodesOf);
  const line = (cell) => h("tr", {}, cell.header ? h("th", { scope: "row" }, cell.header) : h("td", {}), h("td", {}, nodesOf(cell)));
  return scrolled("Rows of a table", h("table", { dir: "auto" }, h("tbody", {}, rows[0].map(line))));
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

/** The step of a piece of evidence, where there are several. */
const stepOf = (answer, item) => (answer.evidence.some((one) => one.hop > 1) ? ` · step ${item.hop}` : "");

/** The sentence or line of a passage that shares most with the question, and its place; long words count more. */
function nearest(item, question) {
  const words = (text) => new Set(text.toLocaleLowerCase().match(/[\p{L}\p{N}]{3,}/gu));
  const asked = words(question);
  let [best, most] = [{ text: shorten(item.text, 240), start: item.start }, 0];
  for (const { 0: text, index } of item.text.matchAll(/\S.*?(?:[.!?](?=\s)|$)/gmu)) {
    const shared = [...words(text)].reduce((sum, word) => sum + (asked.has(word) ? word.length - 2 : 0), 0);
    if (shared > most) [best, most] = [{ text, start: item.start + Array.from(item.text.slice(0, index)).length }, shared];
  }
  return best;
}

/** A fact as its line, with its values marked where they answer. */
function factItem(answer, item, number, open) {
  const value = item.text.split("\t").at(-1);
  const answers = answer.kind === "facts" && answer.candidates.some((one) => one.text === value);
  const end = item.start + Array.from(item.text).length;
  const spans = answers ? [{ start: end - Array.from(value).length, end, name: "short" }] : [];
  return h("li", { class: "evidence" },
    h("button", { type: "button", class: "title fact text", dir: "auto", onclick: () => open(number) }, marked(item.text, item.start, spans)),
    h("p", { class: "quiet" }, "fact in ", h("bdi", {}, sourceName(item.source)), stepOf(answer, item)));
}

function evidenceItem(answer, item, number, name, open) {
  if (item.kind === "fact") return factItem(answer, item, number, open);
  const { quote, words } = places(answer, item);
  const place = whereabouts(item);
  const { text, start } = nearest(item, answer.question);
  const told = `${place ? ` · ${shorten(place, 80)}` : ""}${stepOf(answer, item)}`;
  return h("li", { class: "evidence" },
    h("button", { type: "button", class: "title", "aria-label": `${name}${told}: open`, onclick: () => open(number) },
      h("bdi", {}, name), h("span", { class: "quiet" }, told)),
    quote ? null : h("div", { class: "text" }, structured(text, start, words)),
    item.copies.length ? h("p", { class: "quiet" }, `also in ${item.copies.map(copyName).join("; ")}`) : null);
}

function copyName(copy) {
  return [sourceName(copy.source), copy.place].filter(Boolean).join(", ");
}

/** A link to the graph around what the answer's facts are about. */
function factsLink(answer) {
  if (answer.shown !== "answer") return null;
  const facts = answer.evidence.filter((item) => item.kind === "fact" && answer.carrying.includes(item.id)).map((item) => item.text.split("\t"));
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

/** Puts an answer into its place. */
export function fill(place, given) {
  const answer = { ...given, evidence: distinct(given.evidence) };
  const items = [];
  const opener = (number) => {
    const item = answer.evidence[number];
    if (!item) return;
    const { span, words } = places(answer, item);
    document.querySelector(".evidence[aria-current]")?.removeAttribute("aria-current");
    items[number].setAttribute("aria-current", "true");
    reader.open(item.source, span, words, items[number].querySelector("button"), { place: item.place });
  };
  const names = distinctNames(answer.evidence.map((item) => item.title || sourceName(item.source)), 100);
  items.push(...answer.evidence.map((item, index) => evidenceItem(answer, item, index, names[index], opener)));
  const title = headline(answer);
  const texts = answer.contradiction && answer.quotes.length > 1 ? sides(answer, opener) : quotations(answer, opener);
  const plain = !answer.quotes.length && !title ? answer.answer : null;
  const weak = items.filter((_, index) => !answer.carrying.includes(answer.evidence[index].id));
  const strong = items.filter((item) => !weak.includes(item));
  weak.forEach((item) => item.classList.add("weak"));
  const shown = new Set(strong.slice(0, answer.abstained ? NEAREST : SHOWN));
  const hidden = items.filter((item) => !shown.has(item));
  hidden.forEach((item) => (item.hidden = true));
  const more = hidden.length
    ? h("button", { type: "button", class: "light", onclick: (event) => {
        hidden.forEach((item) => (item.hidden = false));
        hidden[0].querySelector("button").focus();
        event.currentTarget.remove();
      } }, `${hidden.length} more${!answer.abstained && hidden.every((item) => weak.includes(item)) ? " of less weight" : ""}`)
    : null;
  const unsure = answer.shown === "passage";
  place.className = `answer ${sureness(answer)}`;
  place.replaceChildren(...[
    title ? h("p", { class: "headline", dir: "auto" }, shorten(title, 600)) : null,
    unsure ? h("p", { class: "quiet" }, "Not sure; this may answer:") : null,
    h("div", { class: title || unsure ? "quotes text" : "quotes text large" }, before(answer), texts, plain ? h("p", {}, plain) : null),
    answer.contradiction ? h("p", {}, answer.answer.split("\n").at(-1)) : null,
    answer.hops.length || !answer.abstained ? h("p", { class: "quiet meta" }, confidence(answer), h("span", {}, `${Math.round(answer.elapsed_ms)} ms`)) : null,
    answer.unseen_relations.length ? h("p", { class: "quiet" }, `The model never saw these relations: ${answer.unseen_relations.join(", ")}.`) : null,
    ...answer.notes.map((note) => h("p", { class: "quiet" }, note)),
    strong.length ? h("h3", { class: "minor" }, answer.abstained ? "Nearest to the question" : "Evidence")
      : answer.answer === null ? h("p", {}, "Nothing similar is stored.") : null,
    h("ol", { class: "plain list" }, items), more, factsLink(answer),
    found(answer, (source, span, words, from) => reader.open(source, span, words, from)),
  ].filter(Boolean));
  const certain = answer.confidence === null || answer.abstained ? "" : `${Math.round(100 * answer.confidence)} percent confident. `;
  announce(`${title ?? `${unsure ? "Not sure; this may answer: " : ""}${answer.answer}`}. ${certain}${count(answer.evidence.length, "piece")} of evidence.`);
}

/** Moves the focus to the next (1) or previous (-1) piece of evidence; an open source follows. */
export function move(step) {
  const all = [...document.querySelectorAll(".evidence:not([hidden]) > button")];
  if (!all.length) return;
  const focused = all.indexOf(document.activeElement);
  const current = focused >= 0 ? focused : all.findIndex((one) => one.parentElement.hasAttribute("aria-current"));
  const turn = all.findIndex((one) => one.closest("[data-current]"));
  const next = current < 0 ? (step > 0 ? Math.max(0, turn) : all.length - 1) : Math.max(0, Math.min(all.length - 1, current + step));
  all[next].focus();
  all[next].scrollIntoView({ block: "nearest" });
}

/** Opens or folds how the current answer was found. */
export function toggleFound() {
  const details = byId("thread").querySelector("[data-current] .how") ?? byId("thread").querySelector(".how");
  if (!details) return;
  details.open = !details.open;
  details.querySelector("summary").focus();
  details.scrollIntoView({ block: "nearest" });
}
