// What is stored: reading files, the list, forgetting.

import { namespace, request, sourcePath, upload } from "./api.js";
import { outdated } from "./ask.js";
import { announce, byId, confirmed, count, failure, h, shorten, sourceName } from "./dom.js";
import * as reader from "./reader.js";

const PAGE = 50;
let next = null;
let asked = 0; // counts requests, so that a late answer to an earlier one is left out

function item(source) {
  const name = shorten(source.title || sourceName(source.id), 160);
  const row = h("li", { class: "source" },
    h("button", { type: "button", class: "title", onclick: (event) => reader.open(source.id, null, [], event.currentTarget, { namespace: source.namespace }) },
      h("bdi", {}, name)),
    h("p", { class: "quiet" }, `${source.kind} · ${count(source.slots, "slot")} · `, h("bdi", { class: "id" }, sourceName(source.id))),
    h("button", { type: "button", class: "light forget", "aria-label": `Forget ${shorten(name, 80)}`, onclick: () => forget(source, name, row) }, "Forget"));
  return row;
}

async function forget(source, name, row) {
  if (!(await confirmed(`Forget “${shorten(name, 120)}” and all that was made from it?`, "Forget"))) return;
  try {
    await request("DELETE", sourcePath(source.id), { query: { namespace: source.namespace } });
    outdated();
    const neighbour = (row.nextElementSibling ?? row.previousElementSibling)?.querySelector(".forget");
    row.remove();
    announce(`Forgot ${shorten(name, 120)}.`);
    (neighbour ?? byId("prefix")).focus();
    await list();
  } catch (error) {
    row.append(failure(error));
  }
}

/** Shows the first sources, or further ones. */
export async function list(after = null) {
  const mine = ++asked;
  const query = { namespace: namespace(), kind: byId("kind").value, query: byId("prefix").value.trim(), limit: PAGE, after: after ?? undefined };
  try {
    const found = await request("GET", "/sources", { query });
    if (mine !== asked) return;
    const rows = found.sources.map(item);
    if (after === null) byId("sources-list").replaceChildren(...rows);
    else {
      byId("sources-list").append(...rows);
      rows[0]?.querySelector("button").focus();
    }
    next = found.next;
    byId("more").hidden = next === null;
    byId("sources-count").textContent = found.total ? count(found.total, "source") : "Nothing is stored here.";
  } catch (error) {
    if (mine === asked) byId("sources-list").replaceChildren(h("li", {}, failure(error)));
  }
}

/** What became of a file, in a line. */
function outcome(one) {
  if (one.error) return typeof one.error === "string" ? one.error : one.error.message;
  const { added, updated, unchanged, skipped, skipped_by_reason: reasons } = one.report;
  const parts = Object.entries({ added, updated, unchanged })
    .filter(([, number]) => number)
    .map(([name, number]) => `${number} ${name}`);
  if (skipped) parts.push(`${skipped} skipped (${Object.keys(reasons).join(", ") || "unusable"})`);
  return parts.join(", ") || "nothing in it to remember";
}

async function send(files) {
  if (!files.length) return;
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Sent" });
  const line = h("li", {}, `Sending ${count(files.length, "file")} `, bar);
  byId("uploads").prepend(line);
  try {
    const reports = await upload(files, (share) => {
      bar.value = share;
      if (share === 1) line.firstChild.textContent = `Reading ${count(files.length, "file")} `;
    });
    line.replaceWith(...reports.map((one) =>
      h("li", { class: one.error ? "failure" : "" }, h("bdi", {}, shorten(one.name, 120)), `: ${outcome(one)}`)));
    outdated();
    await list();
  } catch (error) {
    line.replaceChildren(failure(error));
  }
}

/** Files may be dropped anywhere on the page; `show` brings this view up. */
function acceptDrops(show) {
  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dropping");
  });
  addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    if (!holdsFiles(event)) return;
    event.preventDefault();
    show();
    send([...event.dataTransfer.files]);
  });
}

/** Connects the list and the drop zone. */
export function start(show) {
  byId("sources-form").addEventListener("submit", (event) => event.preventDefault());
  byId("kind").addEventListener("change", () => list());
  byId("prefix").addEventListener("input", () => list());
  byId("more").addEventListener("click", () => list(next));
  byId("choose").addEventListener("click", () => byId("files").click());
  byId("files").addEventListener("change", (event) => {
    send([...event.target.files]);
    event.target.value = "";
  });
  acceptDrops(show);
}
