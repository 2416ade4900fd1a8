// A conversation: questions one after the other with their answers, each of which has an address.

import { ask } from "./api.js";
import * as answers from "./answer.js";
import { announce, byId, dayName, failure, h, shorten } from "./dom.js";
import * as reader from "./reader.js";
import * as welcome from "./welcome.js";

const KEPT = "memnet.threads"; // of this browser: questions only
const ANSWER = "memnet.answer."; // of this tab
const MOST = 30;
const FIELDS = { "as-of": "as_of", hops: "hops", "top-k": "top_k", where: "where", namespace: "collection" };

let current = null; // {id, turns: [{question, meant?, options}]}
let shown = []; // for each turn its article and answer: {article, answer}
let running = null; // {controller, question}

/** Conversations that are kept, the last one first. */
export function kept() {
  try {
    const found = JSON.parse(localStorage.getItem(KEPT));
    return Array.isArray(found) ? found.filter((one) => typeof one?.id === "string" && one.turns?.every?.((turn) => typeof turn?.question === "string") && one.turns.length) : [];
  } catch {
    return [];
  }
}

function keep() {
  const others = kept().filter((one) => one.id !== current.id);
  localStorage.setItem(KEPT, JSON.stringify([current, ...others].slice(0, MOST)));
}

/** Forgets all conversations. */
export function clear() {
  localStorage.removeItem(KEPT);
  outdated();
}

function dropAnswers() {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(ANSWER)) sessionStorage.removeItem(key);
}

/** What was stored has changed: answers that are kept may be out of date, and counts of the store. */
export function outdated() {
  dropAnswers();
  document.dispatchEvent(new Event("stored"));
}

/** Begins a new conversation, whatever view is shown. */
export function begin() {
  current = null;
  if (location.hash === "#/ask") show(new URLSearchParams());
  else location.hash = "#/ask";
}

/** The address of the last turn of the conversation that is shown; null without one. */
export function last() {
  return current ? address(current.turns.at(-1), current.turns.length - 1) : null;
}

function remember(key, answer) {
  try {
    sessionStorage.setItem(ANSWER + key, JSON.stringify(answer));
  } catch {
    dropAnswers(); // the tab's room is full
  }
}

function remembered(key) {
  try {
    return JSON.parse(sessionStorage.getItem(ANSWER + key));
  } catch {
    return null;
  }
}

/** A value of "key=value": a number, true, false, null, or else a text. */
function value(text) {
  return /^(-?\d+(\.\d+)?|true|false|null)$/.test(text) ? JSON.parse(text) : text;
}

/** Conditions on metadata from "author=Ann, year=1990..2000". */
function conditions(text) {
  const where = {};
  for (const part of (text ?? "").split(",").map((one) => one.trim()).filter(Boolean)) {
    const at = part.indexOf("=");
    if (at < 1) throw new Error(`invalid condition “${part}”; expected name=value, or name=1990..2000`);
    const [name, wanted] = [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    const range = wanted.match(/^(.*?)\.\.(.*)$/);
    where[name] = range
      ? { ...(range[1] ? { from: value(range[1]) } : {}), ...(range[2] ? { to: value(range[2]) } : {}) }
      : [...new Set([wanted, value(wanted)])]; // it may hold 1990 or "1990"
  }
  return Object.keys(where).length ? where : undefined;
}

const options = () => Object.fromEntries(Object.entries(FIELDS).map(([id, name]) => [name, byId(id).value.trim()]).filter(([, one]) => one));

/** The body of a request for a turn. */
function body({ question, meant, options: chosen = {} }) {
  const number = (text) => (text ? Number(text) : undefined);
  return {
    question: meant ?? question, namespace: chosen.collection, hops: number(chosen.hops), top_k: number(chosen.top_k),
    as_of: chosen.as_of, where: conditions(chosen.where),
  };
}

/** The answer to a question that stands alone; one of this tab is given again. */
export async function answerTo(turn, signal, onHop = () => {}) {
  const asked = body(turn);
  const key = JSON.stringify(asked);
  const known = remembered(key);
  if (known) return known;
  const answer = await ask(asked, onHop, signal);
  remember(key, answer);
  return answer;
}

/** The address of a turn: it names the question itself, so that it can be opened anywhere. */
function address(turn, number) {
  const values = { q: turn.question, ...(turn.meant ? { meant: turn.meant } : {}), ...turn.options, thread: current.id, turn: number + 1 };
  return `#/ask?${new URLSearchParams(values)}`;
}

/** The turn that an address names; null without a question. */
function read(values) {
  const question = values.get("q")?.trim();
  if (!question) return null;
  const chosen = Object.values(FIELDS).flatMap((name) => (values.get(name) ? [[name, values.get(name)]] : []));
  return { question, ...(values.get("meant") ? { meant: values.get("meant") } : {}), options: Object.fromEntries(chosen) };
}

const newId = () => crypto.getRandomValues(new Uint32Array(2)).join("").slice(0, 12);

/** Shows what an address names: a turn of a conversation, or the beginning of a new one. */
export function show(values) {
  const turn = read(values);
  stop();
  if (!turn) {
    current = null;
    shown = [];
    byId("thread").replaceChildren();
    frame();
    document.title = "memnet";
    return;
  }
  const id = values.get("thread") ?? newId();
  let number = Number(values.get("turn")) - 1;
  const known = current?.id === id ? current : kept().find((one) => one.id === id);
  const same = (one) => one && one.question === turn.question && one.meant === turn.meant;
  if (known && known === current && same(known.turns[number])) return goTo(number);
  if (known && same(known.turns[number])) current = known;
  else {
    current = { id: newId(), turns: [turn] };
    number = 0;
  }
  open(number);
}

/** Shows all turns of the conversation, and answers them again, the addressed one first. */
async function open(number) {
  const mine = current;
  shown = current.turns.map((turn, index) => ({ article: article(turn, index), answer: null }));
  byId("thread").replaceChildren(...shown.map((one) => one.article));
  frame();
  goTo(number);
  for (const index of [number, ...mine.turns.keys()]) {
    if (current !== mine || shown[index].answer) continue;
    const turn = mine.turns[index];
    try {
      const answer = await answerTo(turn);
      if (current === mine) fill(index, answer);
    } catch (error) {
      if (current === mine) fail(index, error);
    }
  }
  if (current === mine) goTo(number);
}

/** The article of a turn, without its answer. */
function article(turn, number) {
  const id = `turn-${number + 1}`;
  return h("article", { class: "exchange", id, "aria-labelledby": `${id}-asked`, "aria-busy": "true" },
    h("div", { class: "asked" },
      h("h2", { id: `${id}-asked`, tabindex: -1, dir: "auto" }, turn.question),
      h("a", { class: "address", href: address(turn, number), title: "The address of this answer", "aria-label": `Address of the answer to: ${shorten(turn.question, 80)}` }, "Link")),
    optionsLine(turn.options),
    h("p", { class: "meant quiet" }),
    h("div", { class: "answer" }, h("p", { class: "quiet progress" }, "Reading …")));
}

/** What a question was limited to; null if to nothing. */
function optionsLine({ as_of: time, hops, top_k: pieces, where, collection } = {}) {
  const parts = [
    time && `at the time of ${dayName(time) ?? time}`, where && `only where ${where}`, collection && `in the collection ${collection}`,
    hops && `at most ${hops} steps`, pieces && `${pieces} pieces of evidence`,
  ].filter(Boolean);
  return parts.length ? h("p", { class: "quiet" }, parts.join(" · ")) : null;
}

/** Puts an answer into its article. */
function fill(number, answer) {
  const { article: place } = shown[number];
  const turn = current.turns[number];
  shown[number].answer = answer;
  if (answer.question !== turn.question) {
    turn.meant = answer.question;
    const asTyped = () => put(turn.question, true);
    place.querySelector(".meant").replaceChildren("Understood as ", h("q", { dir: "auto" }, answer.question), " ",
      h("button", { type: "button", class: "link", onclick: asTyped }, "Ask as typed"));
  }
  place.querySelector(".address").href = address(turn, number);
  answers.fill(place.querySelector(".answer"), answer);
  place.setAttribute("aria-busy", "false");
}

function fail(number, error) {
  const { article: place } = shown[number];
  place.querySelector(".answer").replaceChildren(failure(error));
  place.setAttribute("aria-busy", "false");
}

/** Brings a turn to the top of the window. */
function goTo(number) {
  document.title = `${shorten(current.turns[number].question, 80)} · memnet`;
  const place = shown[number].article;
  for (const one of shown) one.article.toggleAttribute("data-current", one.article === place);
  if (number) place.scrollIntoView({ block: "start" });
  else scrollTo(0, 0); // with the top of the page
}

/** What stands around the conversation: the beginning, or what leads to a new one. */
function frame() {
  const empty = !current;
  byId("ask").classList.toggle("threaded", !empty);
  byId("ask-title").classList.toggle("hidden", !empty);
  byId("welcome").hidden = !empty;
  byId("new").hidden = empty;
  byId("question").placeholder = empty ? "Ask about what is stored" : "Ask more, or “And …?”";
  if (empty) welcome.show();
}

/** Stops the question that is being answered, and gives it back; whether there was one. */
export function stop() {
  if (!running) return false;
  const { controller, question, number } = running;
  running = null;
  controller.abort();
  shown.splice(number).forEach((one) => one.article.remove());
  current.turns.splice(number);
  if (!current.turns.length) current = null;
  frame();
  setQuestion(question);
  announce("Stopped.");
  return true;
}

/** Gives the last question back to be changed; whether there is one. */
export function giveBack() {
  const last = current?.turns.at(-1);
  if (!last || byId("question").value) return false;
  setQuestion(last.question);
  byId("question").select();
  return true;
}

function setQuestion(text) {
  byId("question").value = text;
  grow();
}

/** Asks a question as the next turn; alone, it is not understood by the turns before. */
export async function put(question, alone = false) {
  stop();
  current ??= { id: newId(), turns: [] };
  for (const failed of byId("thread").querySelectorAll(":scope > :not([id])")) failed.remove();
  const mine = current;
  const number = current.turns.length;
  const turn = { question, options: options() };
  const last = shown[number - 1]?.answer;
  const after = last && !alone ? { question: last.question, short: last.short } : undefined;
  current.turns.push(turn);
  shown.push({ article: article(turn, number), answer: null });
  byId("thread").append(shown[number].article);
  frame();
  reader.close();
  setQuestion("");
  goTo(number);
  const controller = new AbortController();
  const now = (running = { controller, question, number });
  try {
    const step = (hop) => showStep(number, hop);
    // Asked anew, whatever was answered before: others may have changed the memory.
    const answer = await ask({ ...body(turn), ...(after ? { after } : {}) }, step, controller.signal);
    if (running !== now) return;
    running = null;
    fill(number, answer);
    remember(JSON.stringify(body(turn)), answer);
    keep();
    history.pushState(null, "", address(turn, number));
    goTo(number);
  } catch (error) {
    if (error.name === "AbortError" || running !== now) return;
    running = null;
    fail(number, error);
    mine.turns.pop();
    const { article: place } = shown.pop();
    place.removeAttribute("id");
    setQuestion(question);
  }
}

function showStep(number, hop) {
  const best = hop.weights[0];
  const line = shown[number]?.article.querySelector(".progress");
  if (line) line.textContent = `Step ${hop.hop}${best ? ` reads ${shorten(best.title || best.source, 60)}` : ""} …`;
}

/** Lets the field be as high as its text, up to a third of the window. */
function grow() {
  const field = byId("question");
  field.style.setProperty("height", "auto");
  field.style.setProperty("height", `${Math.min(field.scrollHeight + 2, Math.max(60, innerHeight / 3))}px`);
}

/** Connects the form. */
export function start() {
  const submit = (event) => {
    event.preventDefault();
    const question = byId("question").value.trim();
    if (question) put(question);
  };
  byId("ask-form").addEventListener("submit", submit);
  byId("question").addEventListener("input", grow);
  byId("question").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  });
  byId("new").addEventListener("click", begin);
}
