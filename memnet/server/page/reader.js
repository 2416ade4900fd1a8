// A source, opened at a place: its text or, of a PDF file, the picture of its page.

import { namespace, picture, request, sourcePath } from "./api.js";
import { announce, byId, codePoints, datesOf, failure, h, kindOf, saidBy, shorten, sourceName, whereabouts } from "./dom.js";
import { structured } from "./text.js";

const AROUND = 1500; // characters before and after the place
const STEP = 4000; // characters that "earlier" and "later" add
const SCALE = 1.6; // pixels of a page's picture for a point, at its usual size
const SIZES = [1, 1.5, 2.25]; // times the width of the panel

let opened = null; // what is shown: {source, span, words, from}

export const isOpen = () => opened !== null;

/** Closes the source; the focus goes back to what opened it. */
export function close() {
  if (!opened) return;
  const { from } = opened;
  opened = null;
  byId("reader").hidden = true;
  byId("reader").replaceChildren();
  document.body.classList.remove("reading");
  if (from?.isConnected) from.focus();
}

/**
 * Opens a source at a place.
 * @param {string} source id
 * @param {?number[]} span start and end of the sentence or row, in code points; null: the beginning
 * @param {object[]} words spans in it, as `marked` takes them
 * @param {Element} from what to focus when it is closed
 * @param {{namespace?: string, place?: string, focus?: boolean}} more
 */
export async function open(source, span, words, from, more = {}) {
  const asked = { source, span: span ?? [0, 0], words, from };
  opened = asked;
  const panel = byId("reader");
  const body = h("div", { class: "body" }, h("p", { class: "quiet" }, "Opening …"));
  const title = h("h2", { tabindex: -1 }, sourceName(source));
  const about = h("p", { class: "quiet" });
  const views = h("div", { class: "views" });
  panel.replaceChildren(
    h("div", { class: "head" }, title,
      h("button", { type: "button", class: "light", "aria-label": "Close the source", onclick: close }, "Close")),
    about, views, body,
  );
  panel.hidden = false;
  document.body.classList.add("reading");
  if (more.focus !== false) title.focus({ preventScroll: true });
  const query = { namespace: more.namespace || namespace() };
  try {
    const first = Math.max(0, asked.span[0] - AROUND);
    const part = await request("GET", sourcePath(source), { query: { ...query, start: first, end: asked.span[1] + AROUND } });
    if (opened !== asked) return;
    title.textContent = shorten(part.source.title || sourceName(source), 160);
    const place = whereabouts({ place: more.place, title: part.source.title });
    about.replaceChildren(
      [place, kindOf(part.source), place ? "" : datesOf(part.source.metadata)].filter(Boolean).map((one) => `${one} · `).join(""),
      h("bdi", {}, sourceName(part.source.origin || source)));
    const asText = () => showText(body, asked, query, part);
    if (/\.(pdf|png|jpe?g|tiff?|webp)$/i.test(part.source.origin ?? "") && (await showPages(body, views, asked, query, asText))) return;
    if (opened === asked) asText();
  } catch (error) {
    if (opened !== asked) return;
    body.replaceChildren(failure(error.status === 404 ? new Error("This source is not in the memory any longer.") : error));
  }
}

/** The days of messages, each with the offset of its first one. */
function daysOf(places) {
  const days = places.map(([offset, place]) => [offset, saidBy({ place })?.day]).filter(([, day]) => day);
  return days.filter(([, day], index) => day !== days[index - 1]?.[1]);
}

/** The text around the place, with what lies before and after it on demand. */
function showText(body, asked, query, part) {
  const [start, end] = asked.span;
  const spans = [{ start, end, name: "sentence" }, ...asked.words];
  const { headings, rows } = part;
  const known = { headings, rows, days: daysOf(part.places), name: part.source.origin ?? part.source.id, speakers: part.source.metadata?.participants };
  const text = h("div", { class: "text reading-text", dir: "auto" }, structured(part.text, part.start, spans, known));
  const more = async (first, last, button) => {
    button.disabled = true;
    try {
      const whole = await request("GET", sourcePath(asked.source), { query: { ...query, start: first, end: last } });
      if (opened === asked) showText(body, asked, query, whole);
    } catch (error) {
      button.replaceWith(failure(error));
    }
  };
  const button = (name, first, last) =>
    h("button", { type: "button", class: "light", onclick: (event) => more(first, last, event.currentTarget) }, name);
  body.replaceChildren(
    ...[
      part.start > 0 ? button("Earlier", Math.max(0, part.start - STEP), part.end) : null,
      text,
      part.end < part.length ? button("Later", part.start, part.end + STEP) : null,
    ].filter(Boolean),
  );
  scrollTo(text.querySelector("mark"));
  const unit = codePoints(part.text);
  const sentence = part.text.slice(unit(start - part.start), unit(end - part.start));
  if (sentence) announce(`Opened at: ${shorten(sentence, 300)}`);
}

function scrollTo(node) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  node?.scrollIntoView({ block: "center", behavior: still ? "auto" : "smooth" });
}

/** The page on which the place is, and buttons for the next ones; false where there are none. */
async function showPages(body, views, asked, query, asText) {
  let pages;
  try {
    ({ pages } = await request("GET", `${sourcePath(asked.source)}/pages`, { query }));
  } catch {
    return false; // the file is not there any longer: its text still is
  }
  if (!pages.length || opened !== asked) return opened !== asked;
  const [start, end] = asked.span;
  // The words are marked where there are some, so that the answer itself is seen.
  const [from, to] = asked.words.length ? [asked.words[0].start, asked.words[0].end] : [start, end];
  let at = Math.max(0, pages.findIndex((page) => start >= page.start && start < page.end));
  let size = 0;
  const show = async () => {
    const page = pages[at];
    body.replaceChildren(h("p", { class: "quiet" }, "Drawing the page …"));
    try {
      const data = await picture(`${sourcePath(asked.source)}/pages/${page.page}.png`,
        { ...query, start: from, end: to, scale: SCALE * SIZES[size] });
      if (opened !== asked) return;
      const image = h("img", { class: "page", src: data, "--size": SIZES[size], alt: `Page ${page.page}; its words are under “Text”` });
      const turn = (name, step) =>
        h("button", { type: "button", class: "light", "aria-label": `${name} page`, disabled: !pages[at + step], onclick: () => { at += step; show(); } }, name);
      const resize = (name, label, step) =>
        h("button", { type: "button", class: "light", "aria-label": label, disabled: !SIZES[size + step], onclick: async () => { size += step; await show(); body.querySelector(`[aria-label="${label}"]:enabled`)?.focus(); } }, name);
      body.replaceChildren(
        h("div", { class: "turn" }, turn("Previous", -1), resize("−", "Smaller", -1), h("span", { class: "quiet" }, `${page.page} of ${pages.length}`), resize("+", "Larger", 1), turn("Next", 1)),
        h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Page" }, image));
      announce(`Opened at page ${page.page}`);
    } catch (error) {
      if (opened === asked) body.replaceChildren(failure(error));
    }
  };
  const choose = (button, view) => {
    for (const one of views.children) one.setAttribute("aria-pressed", String(one === button));
    view();
  };
  const view = (name, action) =>
    h("button", { type: "button", class: "light", "aria-pressed": "false", onclick: (event) => choose(event.currentTarget, action) }, name);
  const page = view("Page", show);
  views.replaceChildren(page, view("Text", asText));
  choose(page, show);
  return true;
}
