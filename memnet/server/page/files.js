// Files to read: chosen, or dropped anywhere on the page, folders with all that is in them.

import { upload } from "./api.js";
import { byId, count, failure, h, shorten } from "./dom.js";

const MOST_FILES = 5000;
const BATCH_FILES = 40;
const BATCH_BYTES = 50_000_000;
const LISTED = 8; // files with a line of their own
const SKIPPED = /^(?:\..*|node_modules|__pycache__|Thumbs\.db)$/;
let changed = () => {};

/** The files of what was dropped: {file, path}, without those that are hidden. */
async function collect(transfer) {
  // The list of items is empty once the event is over, so entries are taken at once.
  const entries = [...transfer.items].filter((one) => one.kind === "file").map((one) => one.webkitGetAsEntry?.() ?? one.getAsFile());
  const found = [];
  const visit = async (entry, folder) => {
    if (found.length >= MOST_FILES || (folder && SKIPPED.test(entry.name))) return;
    if (entry instanceof File) return void found.push({ file: entry, path: entry.name });
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      return void found.push({ file, path: `${folder}${entry.name}` });
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // a hundred at most
      if (!some.length) return;
      for (const one of some) await visit(one, `${folder}${entry.name}/`);
    }
  };
  for (const entry of entries) if (entry) await visit(entry, "");
  return found;
}

/** Files in parts that are sent together. */
function batches(files) {
  const found = [[]];
  let bytes = 0;
  for (const one of files) {
    if (found.at(-1).length && (found.at(-1).length >= BATCH_FILES || bytes + one.file.size > BATCH_BYTES)) {
      found.push([]);
      bytes = 0;
    }
    found.at(-1).push(one);
    bytes += one.file.size;
  }
  return found;
}

/** What became of a file, in a line. */
function outcome(one) {
  if (one.error) return one.error;
  const { added, updated, unchanged, skipped, skipped_by_reason: reasons } = one.report;
  const parts = Object.entries({ added, updated, unchanged })
    .filter(([, number]) => number)
    .map(([name, number]) => `${number} ${name}`);
  if (skipped) parts.push(`${skipped} skipped (${Object.keys(reasons).join(", ") || "unusable"})`);
  return parts.join(", ") || "nothing in it to remember";
}

function lineOf(one) {
  return h("li", { class: one.error || one.report.skipped ? "failure" : "" }, h("bdi", {}, shorten(one.name, 120)), `: ${outcome(one)}`);
}

/** Lines about files: of many, one for all that were read, and those with a problem behind it. */
function lines(reports) {
  if (reports.length <= LISTED) return reports.map(lineOf);
  const failed = reports.filter((one) => one.error || one.report.skipped);
  const sum = (name) => reports.reduce((total, one) => total + (one.report?.[name] ?? 0), 0);
  const parts = ["added", "updated", "unchanged"].filter(sum).map((name) => `${sum(name)} ${name}`);
  const line = h("li", {}, `${count(reports.length, "file")}: ${parts.join(", ") || "nothing new"}`);
  if (failed.length) line.append(h("details", {}, h("summary", {}, `${count(failed.length, "file")} not or not wholly read`), h("ul", { class: "plain" }, failed.map(lineOf))));
  return [line];
}

async function send(files) {
  if (!files.length) return;
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Sent" });
  const line = h("li", {}, `Sending ${count(files.length, "file")} `, bar);
  byId("uploads").prepend(line);
  byId("uploading").hidden = false;
  const reports = [];
  try {
    let done = 0;
    for (const batch of batches(files)) {
      reports.push(...(await upload(batch, (share) => {
        bar.value = (done + share * batch.length) / files.length;
        if (share === 1) line.firstChild.textContent = files.length > batch.length ? `Reading files: ${done} of ${files.length} ` : `Reading ${count(files.length, "file")} `;
      })));
      done += batch.length;
    }
    line.replaceWith(...lines(reports), ...(files.length >= MOST_FILES ? [h("li", { class: "failure" }, `Only the first ${MOST_FILES.toLocaleString("en")} files were sent; use “memnet ingest FOLDER” for the others.`)] : []));
  } catch (error) {
    line.replaceChildren(failure(error));
    line.after(...(reports.length ? lines(reports) : []));
  }
  changed();
}

function closeReports() {
  byId("uploading").hidden = true;
  byId("uploads").replaceChildren();
}

/** Closes the report about files once it was seen, unless a file could not be read or is being sent. */
export function closeSeen() {
  if (!byId("uploads").querySelector(".failure, progress, details")) closeReports();
}

export const chooseFiles = () => byId("files").click();
export const chooseFolder = () => byId("folder").click();

/** Connects the choosers, and the page as a place to drop on; `onChange` is called after files were read. */
export function start(onChange) {
  changed = onChange;
  for (const id of ["files", "folder"]) {
    byId(id).addEventListener("change", (event) => {
      const chosen = [...event.target.files].map((file) => ({ file, path: file.webkitRelativePath || file.name }));
      event.target.value = "";
      send(chosen.filter(({ path }) => !path.split("/").slice(1).some((part) => SKIPPED.test(part))).slice(0, MOST_FILES));
    });
  }
  byId("close-uploads").addEventListener("click", closeReports);
  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dropping");
  });
  addEventListener("drop", async (event) => {
    document.body.classList.remove("dropping");
    if (!holdsFiles(event)) return;
    event.preventDefault();
    send(await collect(event.dataTransfer));
  });
}
