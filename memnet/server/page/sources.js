// What is stored, as a tree of folders; finding by title, text, kind and date; forgetting.

import { namespace, request, sourcePath } from "./api.js";
import { announce, byId, confirmed, count, datesOf, distinctNames, failure, h, kindOf, marked, shorten, sourceName, uploadName, whereabouts } from "./dom.js";
import { chooseFiles, chooseFolder } from "./files.js";
import { sharedWords } from "./found.js";
import * as reader from "./reader.js";
import { outdated } from "./thread.js";

const PAGE = 1000;
const MOST = 5000; // sources that are listed without being asked
const OPEN = 60; // sources up to which all folders are open
const FEW = 3; // outermost folders up to which they are open
const IN_TEXT = 20; // passages that a search shows
const ROWS = 200; // of one folder, before "Show more"
const WAIT = 200; // milliseconds after the last letter
let asked = 0; // counts requests, so that a late answer to an earlier one is left out
let listed = [];
let timer = 0;

/** The path of a source, as folders and its name. */
function pathOf(source) {
  if (source.kind === "statement") return ["Remembered"];
  const path = source.origin ?? (/^(?:\/|[A-Z]:\\)/.test(source.id) ? source.id : null);
  if (path === null) return source.metadata?.session ? ["Conversations", String(source.metadata.session)] : ["Without a file"];
  const uploaded = uploadName(path);
  const parts = (uploaded ?? path).split(/[\\/]/).filter(Boolean);
  // A file with several sources, such as JSON lines or an archive, is a folder of them.
  const folders = source.id === path ? parts.slice(0, -1) : parts;
  return uploaded === null ? folders : ["Uploaded", ...folders];
}

/** Sources as nested folders; a folder with nothing but another folder is joined with it. */
function treeOf(sources) {
  const root = { name: "", folders: new Map(), sources: [], total: 0 };
  for (const source of sources) {
    let folder = root;
    folder.total++;
    for (const part of pathOf(source)) {
      if (!folder.folders.has(part)) folder.folders.set(part, { name: part, folders: new Map(), sources: [], total: 0 });
      folder = folder.folders.get(part);
      folder.total++;
    }
    folder.sources.push(source);
  }
  const join = (folder) => {
    let joined = folder;
    while (joined.folders.size === 1 && !joined.sources.length && joined !== root) {
      const [only] = joined.folders.values();
      joined = { ...only, name: `${joined.name}/${only.name}` };
    }
    joined.folders = [...joined.folders.values()].map(join);
    joined.folders.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
    return joined;
  };
  return join(root);
}

/** A folder's name: of a long path the end. */
function folderName(name) {
  const parts = name.split("/");
  return parts.length > 3 ? `…/${parts.slice(-2).join("/")}` : name;
}

function item(source, name) {
  const file = sourceName(source.id).split("/").at(-1);
  const about = [kindOf(source), datesOf(source.metadata), source.kind === "document" ? null : count(source.slots, "entry", "entries")];
  const row = h("li", { class: "source" },
    h("button", { type: "button", class: "title", onclick: (event) => reader.open(source.id, null, [], event.currentTarget, { namespace: source.namespace }) },
      h("bdi", {}, name)),
    h("p", { class: "quiet" }, about.filter(Boolean).join(" · "), file === name ? null : [" · ", h("bdi", { class: "id" }, file)]),
    h("button", { type: "button", class: "light forget", "aria-label": `Forget ${shorten(name, 80)}`, onclick: () => forget(source, name, row) }, "Forget"));
  return row;
}

/** Counts a source no longer in the folders around it; an empty folder goes. */
function leaveFolders(row) {
  for (let folder = row.closest("details"); folder; folder = folder.parentElement.closest("details")) {
    const number = folder.querySelector("summary > .quiet");
    const left = Number(number.dataset.total) - 1;
    number.dataset.total = left;
    number.textContent = ` ${left.toLocaleString("en")}`;
    if (!left) folder.parentElement.hidden = true;
  }
}

async function forget(source, name, row) {
  if (!(await confirmed(`Forget “${shorten(name, 120)}” and all that was made from it?`, "Forget"))) return;
  try {
    await request("DELETE", sourcePath(source.id), { query: { namespace: source.namespace } });
    outdated();
    listed = listed.filter((one) => one !== source);
    const neighbour = (row.nextElementSibling ?? row.previousElementSibling)?.querySelector(".forget");
    leaveFolders(row);
    row.remove();
    announce(`Forgot ${shorten(name, 120)}.`);
    (neighbour ?? byId("find")).focus();
    byId("sources-count").textContent = listed.length ? count(listed.length, "source") : "Nothing is stored here.";
  } catch (error) {
    row.append(failure(error));
  }
}

/** The sources of a folder, in parts. */
function rowsOf(sources) {
  const first = sources.slice(0, ROWS);
  const titles = first.map((one) => one.title || sourceName(one.id).split("/").at(-1));
  const names = distinctNames(titles, 140);
  const rows = first.map((one, index) => item(one, names[index]));
  if (sources.length > ROWS) {
    const more = h("li", {}, h("button", { type: "button", class: "light", onclick: () => more.replaceWith(...rowsOf(sources.slice(ROWS))) }, `${(sources.length - ROWS).toLocaleString("en")} more`));
    rows.push(more);
  }
  return rows;
}

/** A folder that is filled when it is opened. */
function folderRow(folder, within, open = within) {
  const place = h("ul", { class: "plain" });
  const details = h("details", { class: "folder", open },
    h("summary", { title: folder.name }, h("bdi", {}, folderName(folder.name)), h("span", { class: "quiet", "data-total": folder.total }, ` ${folder.total.toLocaleString("en")}`)), place);
  const fill = () => {
    if (details.open && !place.hasChildNodes()) place.append(...contents(folder, within));
  };
  details.addEventListener("toggle", fill);
  fill();
  return h("li", {}, details);
}

const contents = (folder, open) => [...folder.folders.map((one) => folderRow(one, open)), ...rowsOf(folder.sources)];

/** All of it; the outermost folders are open where they are few. */
const tree = (root, open) =>
  [...root.folders.map((one) => folderRow(one, open, root.folders.length <= FEW)), ...rowsOf(root.sources)];

function chosen() {
  const value = (id) => byId(id).value.trim();
  return { query: value("find"), kind: value("kind"), since: value("since"), until: value("until") };
}

/** Passages whose text a query finds, with the words marked. */
async function inText({ query, kind, since, until }) {
  if (query.length < 3 || kind === "statement" || kind === "story") return [];
  const { evidence } = await request("POST", "/search", { body: { query, top_k: IN_TEXT, hops: 1, namespace: namespace() } });
  return evidence.filter((one) => {
    const { date, time, last, first } = one.metadata ?? {};
    const day = String(date ?? time ?? last ?? first ?? "").slice(0, 10);
    if ((since && !(day >= since)) || (until && !(day && day <= until))) return false;
    return (!kind || (kind === "facts") === (one.kind === "fact")) && sharedWords(query, one.text).length;
  });
}

/** A passage that a search found: the words around the first match. */
function hit(item, query) {
  const words = sharedWords(query, item.text).map((word) => word.toLocaleLowerCase());
  const low = item.text.toLocaleLowerCase();
  const first = Math.max(0, Math.min(...words.map((word) => low.indexOf(word)).filter((at) => at >= 0), low.length) - 60);
  const from = first && item.text.indexOf(" ", first) + 1;
  const text = shorten(item.text.slice(from), 220);
  const start = item.start + Array.from(item.text.slice(0, from)).length;
  const spans = words.flatMap((word) => {
    const at = text.toLocaleLowerCase().indexOf(word);
    const before = start + Array.from(text.slice(0, at)).length;
    return at < 0 ? [] : [{ start: before, end: before + Array.from(word).length, name: "short" }];
  });
  const name = shorten(item.title || sourceName(item.source), 120);
  return h("li", { class: "source" },
    h("button", { type: "button", class: "title", onclick: (event) => reader.open(item.source, [item.start, item.end], spans, event.currentTarget, { place: item.place }) }, h("bdi", {}, name)),
    h("p", { class: "quiet" }, shorten(whereabouts(item), 100)),
    h("p", { class: "text", dir: "auto" }, from ? "… " : "", marked(text, start, spans)));
}

async function showHits(wanted, mine) {
  const found = await inText(wanted);
  if (mine !== asked) return 0;
  byId("hits").replaceChildren(...(found.length ? [h("h2", { class: "minor" }, "In the text"), h("ul", { class: "plain list" }, found.map((one) => hit(one, wanted.query)))] : []));
  return found.length;
}

/** Shows the sources that fit what is chosen; those that were not listed yet after `after`. */
export async function list(after = 0) {
  const mine = ++asked;
  const wanted = chosen();
  const limited = Object.values(wanted).some(Boolean);
  const query = { ...wanted, namespace: namespace(), limit: PAGE };
  if (!after) listed = [];
  const most = listed.length + MOST;
  try {
    const hits = limited && !after ? showHits(wanted, mine) : null;
    if (!limited) byId("hits").replaceChildren();
    let total = 0;
    let next = after;
    do {
      const page = await request("GET", "/sources", { query: { ...query, after: next } });
      if (mine !== asked) return;
      listed.push(...page.sources);
      const begins = next === 0;
      ({ total, next } = page);
      if (begins || next === null || listed.length >= most) byId("sources-list").replaceChildren(...tree(treeOf(listed), limited || listed.length <= OPEN));
    } while (next !== null && listed.length < most);
    byId("more").hidden = next === null;
    byId("more").onclick = () => list(next);
    const part = listed.length < total ? `${listed.length.toLocaleString("en")} of ` : "";
    const found = await hits;
    const none = !limited ? "Nothing is stored here." : found ? "No title fits." : "Nothing fits.";
    if (mine === asked) byId("sources-count").textContent = total ? part + count(total, "source") : none;
  } catch (error) {
    if (mine === asked) byId("sources-list").replaceChildren(h("li", {}, failure(error)));
  }
}

/** Connects the form. */
export function start() {
  byId("sources-form").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["kind", "since", "until"]) byId(id).addEventListener("change", () => list());
  byId("find").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => list(), WAIT);
  });
  byId("choose").addEventListener("click", chooseFiles);
  byId("choose-folder").addEventListener("click", chooseFolder);
}
