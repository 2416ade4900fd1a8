// Remembering: what a text changes, and statements with their history on a time line.

import { namespace, request } from "./api.js";
import { announce, byId, failure, h, s, shorten } from "./dom.js";
import { outdated } from "./thread.js";

const DAY = 86400;
const CHANGES = { supersede: "replaced", correct: "corrected", end: "ended", contradict: "contradicted" };
const ACTIONS = {
  add: "remembered", merge: "known already", supersede: "replaces", correct: "corrects", end: "ends", contradict: "contradicts",
  erase: "forgotten", evict: "dropped",
};
let asked = 0;

const day = (seconds) =>
  new Date(1000 * seconds).toLocaleDateString("en-GB", { year: "numeric", month: "short", day: "numeric" });

/** "2025" at the beginning of a year, else "Mar 2025"; a day where no month begins. */
function tickName(seconds) {
  const date = new Date(1000 * seconds);
  if (date.getDate() !== 1) return day(seconds);
  if (date.getMonth() === 0) return String(date.getFullYear());
  return date.toLocaleDateString("en-GB", { year: "numeric", month: "short" });
}

function decision(one) {
  return h("li", { class: one.action },
    h("p", {}, h("span", { class: "action" }, ACTIONS[one.action] ?? one.action), " ", h("bdi", { class: "text" }, one.text)),
    h("p", { class: "quiet" }, one.other_text && one.other_text !== one.text ? [h("bdi", {}, `“${shorten(one.other_text, 200)}”`), " · "] : null, one.reason));
}

async function tell(event) {
  event.preventDefault();
  const text = byId("tell").value.trim();
  if (!text) return;
  try {
    const report = await request("POST", "/tell", { body: { text, at: byId("tell-at").value || undefined, namespace: namespace() } });
    byId("decisions").replaceChildren(
      report.decisions.length ? h("ul", { class: "plain list" }, report.decisions.map(decision)) : h("p", {}, "That changed nothing."));
    byId("tell").value = "";
    outdated();
    await list();
  } catch (error) {
    byId("decisions").replaceChildren(failure(error));
  }
}

async function undo() {
  try {
    const report = await request("POST", "/undo", { body: { namespace: namespace() } });
    const lines = [["removed", report.removed], ["restored", report.restored]].flatMap(([action, statements]) =>
      statements.map((one) => h("li", {}, h("span", { class: "action" }, action), " ", h("bdi", { class: "text" }, one.text))));
    byId("decisions").replaceChildren(h("ul", { class: "plain list" }, lines));
    outdated();
    await list();
  } catch (error) {
    byId("decisions").replaceChildren(failure(error));
  }
}

/** Where the time line begins and ends, in seconds since the epoch: now is always on it. */
function extent(statements) {
  const now = Date.now() / 1000;
  const times = statements.flatMap((one) => [one.valid_from, one.valid_until ?? now]);
  const first = Math.min(now - DAY, ...times);
  const last = Math.max(now, ...times);
  const margin = (last - first) * 0.04;
  return { first: first - margin, last: last + margin, now, ticks: ticks(first - margin, last + margin) };
}

/** Beginnings of years or months, or else days, at most five between two times. */
function ticks(first, last) {
  const start = new Date(1000 * first);
  for (const months of [1, 3, 12, 24, 60, 120, 240, 600, 1200]) {
    const found = [];
    const month = Math.floor(start.getMonth() / months) * months;
    const year = months > 12 ? Math.floor(start.getFullYear() / (months / 12)) * (months / 12) : start.getFullYear();
    for (let step = 0; step < 8; step++) {
      const time = new Date(year, month + step * months, 1).getTime() / 1000;
      if (time > first && time < last - (last - first) * 0.08) found.push(time);
    }
    if (found.length && found.length <= 5 && new Date(year, month + 8 * months, 1) / 1000 > last) return found;
  }
  return [first];
}

const place = (time, { first, last }) => `${((100 * (time - first)) / (last - first)).toFixed(2)}%`;

/** A line from when a statement began to hold to when it ceased; open at its end while it holds. */
function track(one, range) {
  const { last, now } = range;
  const percent = (time) => place(time, range);
  const end = one.valid_until ?? last;
  const never = one.valid_until !== null && one.valid_until <= one.valid_from;
  return s("svg", { class: `track ${one.valid_until === null ? "holds" : "ended"}`, width: "100%", height: 14, "aria-hidden": "true" },
    range.ticks.map((time) => s("line", { class: "tick", x1: percent(time), x2: percent(time), y1: 0, y2: 14 })),
    s("line", { class: "now", x1: percent(now), x2: percent(now), y1: 0, y2: 14 }),
    never ? null : s("line", { class: "held", x1: percent(one.valid_from), x2: percent(end), y1: 7, y2: 7 }),
    s("circle", { cx: percent(one.valid_from), cy: 7, r: 4 }),
    one.valid_until !== null && !never ? s("line", { class: "end", x1: percent(end), x2: percent(end), y1: 2, y2: 12 }) : null);
}

function held(one) {
  if (one.valid_until === null) return `since ${day(one.valid_from)}`;
  if (one.valid_until <= one.valid_from && one.certainty === "was") return `over by ${day(one.valid_until)}`;
  if (one.valid_until <= one.valid_from) return `said ${day(one.valid_from)}, never held`;
  return `${day(one.valid_from)} to ${day(one.valid_until)}`;
}

function statement(one, range) {
  const notes = [held(one)];
  if (one.certainty !== "is") notes.push({ was: "of the past", planned: "planned", maybe: "a guess" }[one.certainty]);
  if (one.speaker) notes.push(`said by ${one.speaker}`);
  if (one.standing) notes.push("kept for good");
  const changed = one.changes.map(({ change, text }) =>
    h("p", { class: "quiet" }, CHANGES[change], text ? [" by ", h("bdi", {}, `“${shorten(text, 200)}”`)] : null));
  return h("li", { class: one.valid_until === null ? "statement" : "statement past" },
    h("div", {}, h("p", { class: "text", dir: "auto" }, shorten(one.text, 400)), h("p", { class: "quiet" }, notes.join(" · ")), changed),
    track(one, range));
}

/** Shows what was told, of a subject or all of it. */
export async function list() {
  const mine = ++asked;
  const subject = byId("subject").value.trim();
  try {
    const { statements } = await request("GET", "/history", { query: { subject, namespace: namespace(), limit: 200 } });
    if (mine !== asked) return;
    if (!statements.length) {
      byId("history").replaceChildren(h("p", { class: "quiet" }, subject ? `Nothing is remembered about “${shorten(subject, 80)}”.` : "Nothing was told yet. What you tell replaces what it makes out of date; both stay on the time line."));
      return;
    }
    const range = extent(statements);
    byId("history").replaceChildren(
      h("div", { class: "axis", "aria-hidden": "true" }, range.ticks.map((time) => h("span", { "--at": place(time, range) }, tickName(time)))),
      h("ol", { class: "plain statements" }, statements.map((one) => statement(one, range))));
    if (subject) announce(`${statements.length} statements about ${subject}`);
  } catch (error) {
    if (mine === asked) byId("history").replaceChildren(failure(error));
  }
}

/** Connects the forms. */
export function start() {
  byId("tell-form").addEventListener("submit", tell);
  byId("tell").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) tell(event);
  });
  byId("undo").addEventListener("click", undo);
  byId("history-form").addEventListener("submit", (event) => event.preventDefault());
  byId("subject").addEventListener("input", () => list());
}
