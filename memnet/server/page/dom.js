// Elements, and texts of sources in them. Such a text becomes text nodes only, never markup.

const SVG = "http://www.w3.org/2000/svg";

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) node.style.setProperty(name, value); // CSSOM: the CSP allows it
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((one) => one !== null && one !== undefined && one !== false));
  return node;
}

/** An HTML element: attributes, "onclick" as listener, "--name" as custom property; children. */
export const h = (tag, attributes, ...children) =>
  build(document.createElement(tag), attributes, children);

/** An SVG element, as `h`. */
export const s = (tag, attributes, ...children) =>
  build(document.createElementNS(SVG, tag), attributes, children);

export const byId = (id) => document.getElementById(id);

/** Says something to screen readers. */
export function announce(text) {
  byId("live").textContent = text;
}

/** At most `length` characters of a text. */
export function shorten(text, length) {
  const characters = Array.from(text.slice(0, 2 * length + 2));
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
}

const UPLOADED = /[\\/]uploads[\\/](?:default|[0-9a-f]{32})[\\/](?=.)/;

/** The path of an upload in its folder; null of any other source. */
export function uploadName(id) {
  const found = id.match(UPLOADED);
  return found && id.slice(found.index + found[0].length);
}

/** A source id as people know it: the last parts of a path. */
export function sourceName(id) {
  const parts = (uploadName(id) ?? id).split(/[\\/]/);
  return shorten(parts.length > 3 ? `…/${parts.slice(-2).join("/")}` : parts.join("/"), 120);
}

/** The beginning that texts have in common, up to a word. */
function common(one, other) {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return one.slice(0, at).search(/[^\s/>·]*$/);
}

/** Names cut to a length; those that would then be equal are cut where they differ. */
export function distinctNames(names, length) {
  const cut = names.map((name) => shorten(name, length));
  const alike = new Map();
  cut.forEach((short, place) => alike.set(short, [...(alike.get(short) ?? []), names[place]]));
  return names.map((whole, index) => {
    const name = whole.slice(0, 1000);
    const rivals = alike.get(cut[index]).filter((other) => other !== whole);
    if (!rivals.length) return cut[index];
    const head = Math.floor(length / 3);
    const from = Math.min(...rivals.map((other) => common(name, other.slice(0, 1000))));
    return `${shorten(name, head)} ${shorten(name.slice(from), length - head)}`;
  });
}

/** "2025-03-04", with or without a time, as people write it; null for no day. */
export function dayName(text) {
  const [, day] = String(text ?? "").match(/^(\d{4}-\d{2}-\d{2})(?:[T ]|$)/) ?? [];
  const date = new Date(`${day}T00:00:00Z`);
  if (!day || Number.isNaN(date.getTime())) return null;
  return date.toLocaleDateString("en-GB", { year: "numeric", month: "short", day: "numeric", timeZone: "UTC" });
}

/** Who said a piece of evidence, and when, where it is a message: {speaker, day}; else null. */
export function saidBy(item) {
  const [, day, speaker] = item?.place?.match(/^(\d{4}-\d{2}-\d{2}\S*(?: \d{1,2}:\d{2}\S*)?) (\S.*)$/) ?? [];
  if (speaker) return { speaker, day: dayName(day) };
  const { speaker: named, time } = item?.metadata ?? {};
  return typeof named === "string" && named ? { speaker: named, day: dayName(time) ?? (time ? String(time) : null) } : null;
}

/** Where a piece of evidence stands, besides its title: its place, or who said it and when. */
export function whereabouts(item) {
  const said = saidBy(item);
  if (said) return [said.speaker, said.day].filter(Boolean).join(", ");
  if (!item.place || item.place === item.title) return "";
  return item.place.startsWith(`${item.title} > `) ? item.place.slice(item.title.length + 3) : item.place;
}

/** What a source's dates say, in a line: "4 Mar 2025", "12 Mar 2025 to 13 Mar 2025"; null without. */
export function datesOf(metadata) {
  const { date, time, first, last } = metadata ?? {};
  if (first && last && dayName(first)) return first === last ? dayName(first) : `${dayName(first)} to ${dayName(last) ?? last}`;
  return dayName(date) ?? dayName(time);
}

const TYPES = {
  pdf: "PDF", md: "Markdown", markdown: "Markdown", docx: "Word", doc: "Word", pptx: "slides", xlsx: "Excel", ods: "sheet", odt: "text",
  csv: "table", tsv: "table", html: "web page", htm: "web page", eml: "e-mail", mbox: "e-mail", msg: "e-mail", epub: "book", ipynb: "notebook",
  txt: "text", ics: "calendar", vcf: "contacts", srt: "subtitles", vtt: "subtitles", png: "picture", jpg: "picture", jpeg: "picture", tiff: "picture", webp: "picture",
};
const KINDS = { facts: "facts", statement: "remembered", story: "story" };

/** What people call the kind of a source: "PDF", "e-mail", "facts". */
export function kindOf(source) {
  const metadata = source.metadata ?? {};
  if (KINDS[source.kind]) return KINDS[source.kind];
  if (metadata.participants) return "chat";
  if (metadata.speaker) return "message";
  return TYPES[(source.origin ?? "").split(".").at(-1).toLowerCase()] ?? "document";
}

/** "1 source", "2 sources"; "2 entries" where the plural is given. */
export const count = (number, noun, plural = `${noun}s`) => `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;

/** A fact's text, whose parts are separated by tabs. */
export const factText = (text) => text.split("\t").join(" · ");

/**
 * Offsets of code points, as the server counts them, to offsets of a JavaScript string. They differ
 * after characters outside the Basic Multilingual Plane.
 */
export function codePoints(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (offset) => Math.max(0, Math.min(offset, text.length));
  const units = [];
  let unit = 0;
  for (const character of text) {
    units.push(unit);
    unit += character.length;
  }
  units.push(unit);
  return (offset) => units[Math.max(0, Math.min(offset, units.length - 1))];
}

/**
 * Nodes of a text in which spans are marked; spans may lie within each other.
 * @param {string} text
 * @param {number} start offset of the text in its source, in code points
 * @param {{start: number, end: number, name: string, weight?: number}[]} spans in the source
 * @param {string} tab what stands for a tab, which separates the parts of a fact
 */
export function marked(text, start, spans, tab = "\u2002·\u2002") {
  const unit = codePoints(text);
  const inside = spans
    .map((span) => ({ ...span, first: unit(span.start - start), last: unit(span.end - start) }))
    .filter((span) => span.first < span.last);
  const borders = new Set([0, text.length]);
  for (const span of inside) borders.add(span.first).add(span.last);
  const sorted = [...borders].sort((a, b) => a - b);
  return sorted.slice(1).map((last, index) => {
    const first = sorted[index];
    const over = inside.filter((span) => span.first <= first && span.last >= last);
    const piece = text.slice(first, last).replaceAll("\t", tab);
    if (!over.length) return piece;
    const weight = Math.max(0, ...over.map((span) => span.weight ?? 0));
    return h(
      "mark",
      { class: over.map((span) => span.name).join(" "), "--weight": weight || undefined },
      piece,
    );
  });
}

/** Cuts the texts of a drawing to the room, in pixels, that their attribute "data-room" gives. */
export function fit(drawing) {
  for (const text of drawing.querySelectorAll("text[data-room]")) {
    const room = Number(text.dataset.room);
    const whole = Array.from(text.textContent);
    let length = Math.min(whole.length, Math.ceil(room / 3));
    if (length < whole.length) text.textContent = `${whole.slice(0, length).join("")}…`;
    while (length > 4 && text.getComputedTextLength() > room) {
      length = Math.min(length - 1, Math.ceil((length * room) / text.getComputedTextLength()));
      text.textContent = `${whole.slice(0, length).join("").trimEnd()}…`;
    }
  }
}

/** Asks in a dialog; whether the answer is yes. */
export function confirmed(text, yes) {
  const dialog = byId("confirm");
  byId("confirm-text").textContent = text;
  byId("confirm-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

/** A line that says what went wrong. */
export const failure = (error) => h("p", { class: "failure", role: "alert" }, error.message);
