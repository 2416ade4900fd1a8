// The page of "memnet serve": views, keys, and what is known of the store.

import * as answer from "./answer.js";
import { request } from "./api.js";
import { byId, count } from "./dom.js";
import * as facts from "./facts.js";
import * as files from "./files.js";
import * as reader from "./reader.js";
import * as remembered from "./remembered.js";
import * as sources from "./sources.js";
import * as thread from "./thread.js";
import * as welcome from "./welcome.js";

const VIEWS = { ask: "Ask", sources: "Sources", remembered: "Remembered", facts: "Facts" };
const NAMESPACE = "memnet.namespace";
const SINGLE_KEYS = "memnet.single-keys";

/** Facts of an answer's path from the address; none if it holds something else. */
function readPath(text) {
  try {
    const path = JSON.parse(text || "[]");
    return Array.isArray(path) ? path.filter((fact) => Array.isArray(fact) && fact.length === 3) : [];
  } catch {
    return [];
  }
}

/** The view that the address names, and its values. */
function address() {
  const [name, ...query] = location.hash.replace(/^#\//, "").split("?");
  return [Object.hasOwn(VIEWS, name) ? name : "ask", new URLSearchParams(query.join("?"))];
}

let viewed = "ask";

/** Shows the view that the address names; back from another one, the conversation goes on. */
function route(event) {
  const [view, values] = address();
  const goesOn = view === "ask" && viewed !== "ask" && !values.get("q") ? thread.last() : null;
  viewed = view;
  if (goesOn) return location.replace(goesOn);
  for (const id of Object.keys(VIEWS)) byId(id).hidden = id !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#/${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${VIEWS[view]} · memnet`;
  reader.close();
  if (event) files.closeSeen();
  if (view !== "ask") welcome.stopExamples();
  if (view === "ask") thread.show(values);
  if (view === "sources") sources.list();
  if (view === "remembered") remembered.list();
  if (view === "facts") {
    if (values.get("entity")) facts.show(values.get("entity"), readPath(values.get("path")));
    else facts.invite();
  }
  if (event && !values.get("q")) byId("main").focus({ preventScroll: true });
  if (view === "ask" && !values.get("q") && matchMedia("(hover: hover)").matches) byId("question").focus();
}

const writes = (target) => target instanceof Element && target.closest("input, textarea, select, dialog");

const KEYS = {
  "/": () => {
    if (byId("ask").hidden) location.hash = "#/ask";
    requestAnimationFrame(() => {
      byId("question").focus();
      byId("question").select();
    });
  },
  "?": () => byId("keys").showModal(),
  n: thread.begin,
  j: () => answer.move(1),
  k: () => answer.move(-1),
  h: answer.toggleFound,
  ...Object.fromEntries(Object.keys(VIEWS).map((view, index) => [index + 1, () => (location.hash = `#/${view}`)])),
};

/** Escape stops a question and gives it back, closes the source, gives the last question back, leaves the field. */
function escape(event) {
  if (document.querySelector("dialog[open]")) return;
  if (thread.stop()) byId("question").focus();
  else if (reader.isOpen()) reader.close();
  else if (event.target === byId("question") && thread.giveBack()) return;
  else if (writes(event.target)) event.target.blur();
}

function onKey(event) {
  if (event.key === "Escape") return escape(event);
  if (event.ctrlKey || event.metaKey || event.altKey || writes(event.target) || !byId("single-keys").checked) return;
  if (!Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]();
}

async function showInfo() {
  try {
    const info = await request("GET", "/info");
    const parts = [[info.sources, "source"], [info.facts, "fact"]].filter(([number]) => number).map(([number, noun]) => count(number, noun));
    byId("info").textContent = `${parts.join(" and ") || "Nothing stored"} in ${info.path}`;
  } catch (error) {
    byId("info").textContent = error.message;
  }
}

byId("namespace").value = localStorage.getItem(NAMESPACE) ?? "";
byId("namespace").addEventListener("change", (event) => {
  localStorage.setItem(NAMESPACE, event.target.value.trim());
  route();
});
byId("single-keys").checked = localStorage.getItem(SINGLE_KEYS) !== "no";
byId("single-keys").addEventListener("change", (event) => {
  localStorage.setItem(SINGLE_KEYS, event.target.checked ? "yes" : "no");
});
byId("help").addEventListener("click", () => byId("keys").showModal());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address is the view's
  byId("main").focus();
});

thread.start();
sources.start();
files.start(() => {
  thread.outdated();
  const [view, values] = address();
  if (view !== "ask" || !values.get("q")) route();
});
remembered.start();
facts.start();
addEventListener("keydown", onKey);
addEventListener("hashchange", route);
route();
document.addEventListener("stored", showInfo);
showInfo();
