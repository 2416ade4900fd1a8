// The page of "memnet serve": views, keys, and what is known of the store.

import * as answer from "./answer.js";
import { request } from "./api.js";
import * as ask from "./ask.js";
import { byId, count } from "./dom.js";
import * as facts from "./facts.js";
import * as reader from "./reader.js";
import * as sources from "./sources.js";
import * as told from "./told.js";

const VIEWS = { ask: "Ask", sources: "Sources", told: "Told", facts: "Facts" };
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

/** Shows the view that the address names. */
function route(event) {
  const [name, query] = location.hash.replace(/^#\//, "").split("?");
  const view = Object.hasOwn(VIEWS, name) ? name : "ask";
  for (const id of Object.keys(VIEWS)) byId(id).hidden = id !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#/${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = view === "ask" ? "memnet" : `${VIEWS[view]} · memnet`;
  reader.close();
  if (view === "sources") sources.list();
  if (view === "told") told.list();
  const values = new URLSearchParams(query);
  if (view === "facts") {
    if (values.get("entity")) facts.show(values.get("entity"), readPath(values.get("path")));
    else facts.invite();
  }
  if (event) byId("main").focus({ preventScroll: true });
  if (view === "ask" && matchMedia("(hover: hover)").matches) byId("question").focus();
}

const writes = (target) => target instanceof Element && target.closest("input, textarea, select, dialog");

function toggleFound() {
  const details = byId("found");
  if (!details) return;
  details.open = !details.open;
  details.querySelector("summary").focus();
  details.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "/": () => {
    if (byId("ask").hidden) location.hash = "#/ask";
    requestAnimationFrame(() => {
      byId("question").focus();
      byId("question").select();
    });
  },
  "?": () => byId("keys").showModal(),
  j: () => answer.move(1),
  k: () => answer.move(-1),
  h: toggleFound,
  ...Object.fromEntries(Object.keys(VIEWS).map((view, index) => [index + 1, () => (location.hash = `#/${view}`)])),
};

function onKey(event) {
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
    if (reader.isOpen()) reader.close();
    else if (writes(event.target)) event.target.blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || writes(event.target) || !byId("single-keys").checked) return;
  if (!Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]();
}

async function showInfo() {
  try {
    const info = await request("GET", "/info");
    byId("info").textContent = `${count(info.slots, "slot")} of ${count(info.sources, "source")} in ${info.path}`;
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

ask.start();
sources.start(() => {
  if (byId("sources").hidden) location.hash = "#/sources";
});
told.start();
facts.start();
addEventListener("keydown", onKey);
addEventListener("hashchange", route);
route();
showInfo();
