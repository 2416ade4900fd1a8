// How an answer was found: what each hop attended to, and the words that the last one read.

import { factText, h, marked, shorten, sourceName } from "./dom.js";

const SHOWN = 6; // slots of a hop; the others weigh little
const LEAST = 0.01;

/** What a slot is called: a fact by its text, a passage by its title. */
function slotName(weight, evidence) {
  const item = evidence.get(weight.id);
  if (item?.kind === "fact") return factText(item.text);
  return weight.title || item?.title || sourceName(weight.source);
}

/** Name by which a hop found a slot; one that begins with a slash is that of a link's target. */
const viaName = (via) => (via.startsWith("/") ? `link “${via.slice(1)}”` : `“${via}”`);

function reason(weight, hop, titles) {
  if (weight.via === null) return weight.dense >= weight.lexical ? "similarity" : "shared words";
  if (weight.via_source === null) return `${viaName(weight.via)} in what it looked for`;
  return `${viaName(weight.via)} in ${titles.get(weight.via_source) || sourceName(weight.via_source)}`;
}

/** For each hop what it attended to, with a bar for each weight, and what led there. */
function hops(answer, evidence) {
  const titles = new Map(answer.hops.flatMap((hop) => hop.weights.map((one) => [one.source, one.title])));
  return h("div", { class: "hops" }, answer.hops.map((hop) => h("section", {},
    h("h2", { class: "minor" }, `Hop ${hop.hop}`),
    hop.query ? h("p", { class: "quiet" }, `looked for “${shorten(hop.query, 120)}”`) : null,
    h("ol", { class: "plain" }, hop.weights.filter((one) => one.weight >= LEAST).slice(0, SHOWN).map((weight) =>
      h("li", { class: "bar", "--weight": weight.weight },
        h("span", { dir: "auto" }, shorten(slotName(weight, evidence), 80)), h("span", { class: "number" }, weight.weight.toFixed(2)),
        h("span", { class: "quiet" }, `by ${reason(weight, hop, titles)}`)))))));
}

/** Sentences, items, rows and lines that the last hop attended to, their words shaded by weight. */
function units(answer, evidence, open) {
  if (!answer.units.length) return null;
  const heaviest = Math.max(...answer.units.flatMap((unit) => unit.words.map((word) => word.weight)), 1e-9);
  return [
    h("h2", { class: "minor" }, "Read inside the passages"),
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
  const evidence = new Map(answer.evidence.map((item) => [item.id, item]));
  const place = h("div", { class: "found" });
  const details = h("details", { id: "found" }, h("summary", {}, "How it was found"), place);
  details.addEventListener("toggle", () => {
    if (!details.open || place.hasChildNodes()) return;
    const experts = answer.experts.map((one) => `${one.name} ${one.weight.toFixed(2)}`).join(", ");
    place.append(
      ...[
        answer.hops.length ? hops(answer, evidence) : null,
        units(answer, evidence, open), alignments(answer),
        experts ? h("p", { class: "quiet" }, `Answered by: ${experts}`) : null,
      ].flat(2).filter(Boolean),
    );
  });
  return details;
}
