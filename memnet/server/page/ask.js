// Asking: the form, the hops as they come, and earlier questions.

import { ask, namespace } from "./api.js";
import * as answer from "./answer.js";
import { byId, failure, h, shorten } from "./dom.js";
import * as reader from "./reader.js";

const KEPT = "memnet.questions";
const MOST = 30;

const answers = new Map(); // of this tab: what was asked to its answer
let running = null;

function questions() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT));
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

function keep(question) {
  const kept = [question, ...questions().filter((one) => one !== question)].slice(0, MOST);
  localStorage.setItem(KEPT, JSON.stringify(kept));
  showEarlier();
}

function showEarlier() {
  const kept = questions();
  const open = byId("earlier").querySelector("details")?.open ?? !byId("answer").hasChildNodes();
  byId("earlier").replaceChildren(
    ...(kept.length
      ? [h("details", { open },
          h("summary", {}, "Earlier questions"),
          h("ul", { class: "plain earlier" }, kept.map((one) =>
            h("li", {}, h("button", { type: "button", class: "link", onclick: () => put(one) }, shorten(one, 160))))),
          h("button", { type: "button", class: "light", onclick: forget }, "Clear"))]
      : []),
  );
}

function forget() {
  localStorage.removeItem(KEPT);
  answers.clear();
  showEarlier();
  byId("question").focus();
}

/** A value of "key=value": a number, true, false, null, or else a text. */
function value(text) {
  return /^(-?\d+(\.\d+)?|true|false|null)$/.test(text) ? JSON.parse(text) : text;
}

/** Conditions on metadata from "author=Ann, year=1990..2000". */
function conditions(text) {
  const where = {};
  for (const part of text.split(",").map((one) => one.trim()).filter(Boolean)) {
    const at = part.indexOf("=");
    if (at < 1) throw new Error(`“${part}” is no condition; write it as name=value, or name=1990..2000`);
    const [name, wanted] = [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    const range = wanted.match(/^(.*?)\.\.(.*)$/);
    where[name] = range
      ? { ...(range[1] ? { from: value(range[1]) } : {}), ...(range[2] ? { to: value(range[2]) } : {}) }
      : value(wanted);
  }
  return Object.keys(where).length ? where : undefined;
}

function body(question) {
  const number = (id) => (byId(id).value ? Number(byId(id).value) : undefined);
  return {
    question, namespace: namespace(), hops: number("hops"), top_k: number("top-k"),
    as_of: byId("as-of").value || undefined, where: conditions(byId("where").value),
  };
}

function showHop(hop) {
  const best = hop.weights[0];
  byId("progress").textContent = `Hop ${hop.hop}${best ? ` reads ${shorten(best.title || best.source, 60)}` : ""} …`;
}

/** Asks a question; one of this tab that was asked with the same options is shown again. */
export async function put(question) {
  byId("question").value = question;
  running?.abort();
  const now = new AbortController();
  running = now;
  const progress = byId("progress");
  try {
    const asked = body(question);
    const key = JSON.stringify(asked);
    let found = answers.get(key);
    if (!found) {
      progress.textContent = "Reading …";
      progress.hidden = false;
      found = await ask(asked, showHop, now.signal);
    }
    if (running !== now) return;
    answers.set(key, found);
    reader.close();
    answer.show(found);
    byId("earlier").querySelector("details")?.removeAttribute("open");
    keep(question);
  } catch (error) {
    if (error.name !== "AbortError" && running === now) byId("answer").replaceChildren(failure(error));
  } finally {
    if (running === now) progress.hidden = true;
  }
}

/** What was stored has changed: answers that are kept may be out of date. */
export const outdated = () => answers.clear();

/** Connects the form. */
export function start() {
  byId("ask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const question = byId("question").value.trim();
    if (question) put(question);
  });
  showEarlier();
}
