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

/** A source id as people know it: the last parts of a path. */
export function sourceName(id) {
  const parts = id.split(/[\\/]/);
  return shorten(parts.length > 3 ? `…/${parts.slice(-2).join("/")}` : id, 120);
}

/** "1 source", "2 sources". */
export const count = (number, noun) =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

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
 */
export function marked(text, start, spans) {
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
    const piece = text.slice(first, last).replaceAll("\t", "\u2002·\u2002");
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
