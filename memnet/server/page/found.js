// How an answer was found, in words: what each step read and why; behind it, the weights.

import { distinctNames, factText, h, marked, shorten, sourceName } from "./dom.js";

const SHOWN = 6; // passages of a step; the others weigh little
const LEAST = 0.01;
const COMMON = new Set("a an and are as at be but by can could did do does for from had has have how i if in into is it its me my of on or our shall should so that the their them there they this to was we were what when where which who whom whose why will with would you your".split(" "));

const stem = (word) => word.toLocaleLowerCase().replace(/(?:['’]s|ing|ed|es|s)$/u, "");
const wordsOf = (text) => text.match(/[\p{L}\p{N}]+(?:['’]\p{L}+)?/gu) ?? [];

/** Words of a question that a text holds, as the question writes them. */
export function sharedWords(question, text) {
  const held = new Set(wordsOf(text.slice(0, 20_000)).map(stem));
  const asked = wordsOf(question).filter((word) => word.length > 1 && !COMMON.has(word.toLocaleLowerCase()));
  return [...new Set(asked)].filter((word) => held.has(stem(word)));
}

/** What a passage is called: a fact by its text, else its title and, below a heading, that. */
function nameOf(weight, item) {
  if (item?.kind === "fact") return factText(item.text);
  const title = weight.title || item?.title || sourceName(weight.source);
  const place = item?.place ?? "";
  if (!place || place === title) return title;
  return place.startsWith(`${title} > `) ? place : `${title}, ${place}`;
}

/** A name as one of some texts writes it: those of the store are in small letters. */
function written(name, ...texts) {
  for (const text of texts) {
    const at = text?.slice(0, 20_000).toLocaleLowerCase().indexOf(name.toLocaleLowerCase()) ?? -1;
    if (at >= 0) return text.slice(at, at + name.length);
  }
  return name;
}

const quoted = (words) => words.map((word) => `“${shorten(word, 40)}”`).join(", ");

/** Why a step read a passage. */
function reason(weight, item, answer, hop, titles) {
  if (weight.via !== null) {
    // A name that begins with a slash is that of what a link leads to.
    const [verb, name] = weight.via.startsWith("/") ? ["links to", weight.via.slice(1)] : ["names", weight.via];
    const from = weight.via_source === null ? "the question" : titles.get(weight.via_source) || sourceName(weight.via_source);
    const known = [hop.query, answer.question, ...titles.values(), ...answer.evidence.map((one) => one.text)];
    return `because ${shorten(from, 60)} ${verb} “${shorten(written(name, ...known), 60)}”`;
  }
  const words = sharedWords(hop.query || answer.question, item ? `${item.title} ${item.text}` : weight.title);
  if (!words.length) return "by meaning";
  return `by ${weight.dense >= weight.lexical ? "meaning, and " : ""}the words ${quoted(words)}`;
}

/** What a step read, heaviest first; passages of one name together. */
function readOf(hop, answer, evidence, titles) {
  const lines = new Map();
  for (const weight of hop.weights.filter((one) => one.weight >= LEAST).slice(0, SHOWN)) {
    const item = evidence.get(weight.id);
    const name = nameOf(weight, item);
    const before = lines.get(name);
    if (before) before.weight += weight.weight;
    else lines.set(name, { name, weight: weight.weight, why: reason(weight, item, answer, hop, titles), parts: weight });
  }
  const read = [...lines.values()];
  const names = distinctNames(read.map((one) => one.name), 70);
  return read.map((one, index) => ({ ...one, name: names[index] }));
}

function steps(answer, read) {
  return h("ol", { class: "steps" }, answer.hops.map((hop, index) => h("li", {},
    h("p", {}, hop.query && hop.query !== answer.question ? ["Looked for ", h("q", { dir: "auto" }, shorten(hop.query, 160)), ", and read"] : index ? "Then read" : "Read"),
    h("ul", { class: "plain" }, read[index].map((one) =>
      h("li", {}, h("strong", {}, h("bdi", {}, one.name)), ` ${one.why}`))))));
}

/** The weights of each step as bars, with the parts of their scores. */
function weights(answer, read) {
  const parts = ({ dense, lexical, symbolic, learned }) =>
    [["meaning", dense], ["words", lexical], ["names", symbolic], ["learned", learned]].filter(([, part]) => part).map(([name, part]) => `${name} ${part.toFixed(2)}`).join(", ");
  return h("div", { class: "hops" }, answer.hops.map((hop, index) => h("section", {},
    h("h4", { class: "minor" }, `Step ${hop.hop}`),
    h("ol", { class: "plain" }, read[index].map((one) =>
      h("li", { class: "bar", "--weight": Math.min(1, one.weight) },
        h("span", { dir: "auto" }, one.name), h("span", { class: "number" }, one.weight.toFixed(2)),
        h("span", { class: "quiet" }, parts(one.parts))))))));
}

/** Sentences, items, rows and lines that the last step read, their words shaded by weight. */
function units(answer, evidence, open) {
  if (!answer.units.length) return null;
  const heaviest = Math.max(...answer.units.flatMap((unit) => unit.words.map((word) => word.weight)), 1e-9);
  return [
    h("h4", { class: "minor" }, "Read inside the passages"),
    h("ul", { class: "plain units" }, answer.units.map((unit) => {
      const item = evidence.get(unit.evidence);
      const words = unit.words.map((word) => ({ ...word, name: "word", weight: word.weight / heaviest }));
      return h("li", { "--weight": unit.weight },
        h("p", { class: "text", dir: "auto" }, marked(unit.text, unit.start, words)),
        h("p", { class: "quiet" }, `${unit.weight.toFixed(2)} · `,
          h("button", { class: "link", type: "button", onclick: (event) => open(unit.source, [unit.start, unit.end], [], event.currentTarget) },
            shorten(item?.title || sourceName(unit.source), 80))));
    })),
  ];
}

/** Words of an answer that was generated, each with what it was read from. */
function alignments(answer) {
  return answer.alignments.map((one) =>
    h("p", { class: "quiet" }, `“${one.word}” was read from `,
      one.weights.slice(0, 3).map((weight) => `${weight.title || sourceName(weight.source)} (${weight.weight.toFixed(2)})`).join(", ")));
}

/**
 * "How it was found", folded; made when it is opened.
 * @param {object} answer
 * @param {(source: string, span: number[], words: object[], from: Element) => void} open
 */
export function found(answer, open) {
  if (!answer.hops.length && !answer.units.length && !answer.experts.length && !answer.alignments.length) return null;
  const evidence = new Map(answer.evidence.map((item) => [item.id, item]));
  const titles = new Map(answer.hops.flatMap((hop) => hop.weights.map((one) => [one.source, one.title])));
  const place = h("div", { class: "found" });
  const details = h("details", { class: "how" }, h("summary", {}, "How it was found"), place);
  details.addEventListener("toggle", () => {
    if (!details.open || place.hasChildNodes()) return;
    const read = answer.hops.map((hop) => readOf(hop, answer, evidence, titles));
    const experts = answer.experts.map((one) => `${one.name} ${one.weight.toFixed(2)}`).join(", ");
    place.append(...[
      answer.hops.length ? steps(answer, read) : null, alignments(answer),
      h("details", { class: "behind" }, h("summary", {}, "The weights behind it"),
        weights(answer, read), units(answer, evidence, open), experts ? h("p", { class: "quiet" }, `Answered by: ${experts}`) : null),
    ].flat(2).filter(Boolean));
  });
  return details;
}
