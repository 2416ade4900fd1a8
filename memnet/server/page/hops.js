// How an answer was found: what each hop attended to, and the words that the last one read.

import { factText, fit, h, marked, s, shorten, sourceName } from "./dom.js";

const SHOWN = 6; // slots of a hop; the others weigh little
const LEAST = 0.01;
const ROW = 46;
const TOP = 62;
const NARROW = 600; // pixels; below, hops stand under each other

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

/** Slots of each hop that the picture shows, and the links between them. */
function graph(answer, evidence) {
  const hops = answer.hops.map((hop) => ({
    ...hop,
    slots: hop.weights.filter((weight) => weight.weight >= LEAST).slice(0, SHOWN)
      .map((weight) => ({ weight, hop: hop.hop })),
  }));
  const links = [];
  hops.forEach((hop, index) => {
    for (const slot of hop.slots) {
      const { via_source: sender } = slot.weight;
      if (!sender) continue;
      const before = hops.slice(0, index).reverse().flatMap((one) => one.slots);
      const from = before.find((one) => one.weight.source === sender);
      if (from) links.push({ from, to: slot });
    }
  });
  for (const hop of hops) hop.slots.forEach((slot) => (slot.name = slotName(slot.weight, evidence)));
  return { hops, links };
}

/** Gives every slot its place, and the picture's size. */
function layOut(hops, width) {
  const narrow = width < NARROW;
  const gutter = narrow ? 34 : 56;
  const column = narrow ? width - gutter : Math.max(190, (width - gutter * (hops.length - 1)) / hops.length);
  let y = 0;
  let height = 0;
  hops.forEach((hop, index) => {
    hop.x = narrow ? gutter : index * (column + gutter);
    hop.y = narrow ? y : 0;
    hop.slots.forEach((slot, row) => {
      slot.x = hop.x;
      slot.y = hop.y + TOP + row * ROW;
    });
    y = hop.y + TOP + hop.slots.length * ROW + 18;
    height = Math.max(height, y);
  });
  const total = narrow ? width : hops.length * column + (hops.length - 1) * gutter;
  return { narrow, column, width: total, height };
}

function path(link, size) {
  const { from, to } = link;
  const [y1, y2] = [from.y + 17, to.y + 17];
  if (size.narrow) {
    const out = Math.max(2, from.x - 10 - Math.abs(y2 - y1) / 16);
    return `M${from.x - 4} ${y1}C${out} ${y1} ${out} ${y2} ${to.x - 4} ${y2}`;
  }
  const x1 = from.x + size.column + 2;
  const x2 = to.x - 6;
  const bend = (x2 - x1) / 2;
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

function summary(answer, evidence) {
  return answer.hops
    .map((hop) => {
      const best = hop.weights[0];
      const name = best ? slotName(best, evidence) : "nothing";
      return `Hop ${hop.hop} attended most to ${name}${best?.via ? ` by ${viaName(best.via)}` : ""}.`;
    })
    .join(" ");
}

/** The picture: for each hop its slots, with a bar for each weight, and the names that led on. */
function picture(answer, evidence, width) {
  const { hops, links } = graph(answer, evidence);
  const size = layOut(hops, width);
  const drawing = s("svg", {
    class: "hops", role: "img", "aria-label": summary(answer, evidence),
    width: size.width, height: size.height, viewBox: `0 0 ${size.width} ${size.height}`,
  });
  for (const link of links) {
    drawing.append(s("path", { class: "link", d: path(link, size), "stroke-width": 1 + 7 * link.to.weight.weight }));
  }
  for (const hop of hops) {
    drawing.append(
      s("text", { class: "hop", x: hop.x, y: hop.y + 16 }, `Hop ${hop.hop}`),
      s("text", { class: "small", x: hop.x, y: hop.y + 36, "data-room": size.column }, hop.query),
    );
    for (const slot of hop.slots) {
      const { weight } = slot;
      const label = weight.via ? `by ${viaName(weight.via)}` : "by similarity";
      drawing.append(
        s("g", {},
          s("title", {}, `${slot.name}: ${weight.weight.toFixed(2)}`),
          s("text", { x: slot.x, y: slot.y + 11, "data-room": size.column - 40 }, slot.name),
          s("text", { class: "small number", x: slot.x + size.column, y: slot.y + 11 }, weight.weight.toFixed(2)),
          s("rect", { class: "track", x: slot.x, y: slot.y + 17, width: size.column, height: 3, rx: 1.5 }),
          s("rect", { class: "bar", x: slot.x, y: slot.y + 17, width: Math.max(2, size.column * weight.weight), height: 3, rx: 1.5 }),
          s("text", { class: "small", x: slot.x, y: slot.y + 33, "data-room": size.column }, label)),
      );
    }
  }
  return h("div", { class: "scroll", tabindex: size.width > width ? 0 : undefined, role: "group", "aria-label": "Picture of the hops" }, drawing);
}

/** All numbers of the picture, which screen readers and the curious read. */
function table(answer, evidence) {
  const titles = new Map(answer.hops.flatMap((hop) => hop.weights.map((one) => [one.source, one.title])));
  const head = ["Hop", "Weight", "Slot", "Vector", "Words", "Name", "Trained", "Led here by"];
  const rows = answer.hops.flatMap((hop) =>
    hop.weights.map((weight) =>
      [hop.hop, weight.weight.toFixed(2), shorten(slotName(weight, evidence), 80),
        ...[weight.dense, weight.lexical, weight.symbolic, weight.learned].map((part) => part.toFixed(2)),
        shorten(reason(weight, hop, titles), 120)]));
  return h("details", {},
    h("summary", {}, "All weights"),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Weights" },
      h("table", {},
        h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, String(cell)))))))));
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
 * "How it was found", folded; drawn when it is opened, for the width that it has then.
 * @param {object} answer
 * @param {(source: string, span: number[], words: object[], from: Element) => void} open
 */
export function found(answer, open) {
  const evidence = new Map(answer.evidence.map((item) => [item.id, item]));
  const place = h("div", { class: "found" });
  const details = h("details", { id: "found" }, h("summary", {}, "How it was found"), place);
  const draw = () => {
    const old = place.querySelector(".hops")?.parentElement;
    if (!details.open || !old) return;
    const drawn = picture(answer, evidence, place.clientWidth);
    old.replaceWith(drawn);
    fit(drawn);
  };
  details.addEventListener("toggle", () => {
    if (!details.open || place.hasChildNodes()) return;
    const experts = answer.experts.map((one) => `${one.name} ${one.weight.toFixed(2)}`).join(", ");
    place.append(
      ...[
        answer.hops.length ? picture(answer, evidence, place.clientWidth) : null,
        units(answer, evidence, open), alignments(answer), answer.hops.length ? table(answer, evidence) : null,
        experts ? h("p", { class: "quiet" }, `Answered by: ${experts}`) : null,
      ].flat(2).filter(Boolean),
    );
    fit(place);
    let width = place.clientWidth;
    new ResizeObserver(() => {
      if (!place.clientWidth || place.clientWidth === width) return; // hidden, or the same
      width = place.clientWidth;
      draw();
    }).observe(place);
  });
  return details;
}
