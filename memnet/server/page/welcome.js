// The beginning: what to do, questions that can be asked of what is stored, earlier conversations.

import { namespace, request, sourcePath } from "./api.js";
import { byId, count, failure, h, shorten } from "./dom.js";
import { chooseFiles, chooseFolder } from "./files.js";
import * as thread from "./thread.js";

const EXAMPLES = 3;
const TRIED = 8; // questions that are asked to see whether they have an answer
const LOOKED_AT = 24; // documents whose headings and tables are read
const SAID = { written: "wrote", sung: "sang", drawn: "drew", given: "gave", known: "knew", worn: "wore", chosen: "chose", begun: "began" };
const WAS = /^(?:born|built|buried|founded|made|married|killed|raised|educated|trained|written)$/;
const NO_NAME = /^(?:what|who|how|when|where|why|which)\b|ed$/i; // of a column: no "What is the joined of Ann?"
const POINTING = /\b(?:it|this|that|these|those|them|here)\b/i; // to what stands around it
let controller = null; // of the examples that are being tried
let asked = 0;

/** "Price per night" within a question: "price per night", but "VAT" as it is. */
const inside = (words) => (/^\p{Lu}\p{Ll}/u.test(words) ? words[0].toLocaleLowerCase() + words.slice(1) : words);

/** A question that a fact answers. */
function ofFact(subject, relation) {
  const [, verb, preposition] = relation.match(/^(\w+) (by|in|on|at|near)$/) ?? [];
  if (preposition === "by") return `Who ${SAID[verb] ?? verb} ${subject}?`;
  if (verb && /[^s]s$/.test(verb)) return `Where does ${subject} ${verb.replace(/ies$/, "y").replace(/s$/, "").replace(/^ly$/, "lie")}?`;
  if (verb) return `Where ${WAS.test(verb) ? "was" : "is"} ${subject} ${verb}?`;
  return /s$/.test(relation.split(" ")[0]) ? null : `What is the ${relation} of ${subject}?`;
}

/** Questions about a document: by its headings and tables, else by its title. */
function ofDocument({ source, text, headings }) {
  const lines = text.split("\n");
  const found = [...headings.map(([, heading]) => heading), ...lines.filter((line) => /^how to /i.test(line) && line.length < 80)];
  const questions = [...new Set(found)].flatMap((heading) => {
    const [, what] = heading.match(/^how to (.{3,70}?)[.:]?$/i) ?? [];
    return what && !POINTING.test(what) ? [`How do I ${what}?`] : /^\p{Lu}.{8,80}\?$/u.test(heading) ? [heading] : [];
  });
  const cells = [];
  const header = lines.findIndex((line, at) => line.split(" | ").length > 1 && lines[at + 1]?.split(" | ").length === line.split(" | ").length);
  const fields = lines[0].split("; ").map((field) => field.split(": "));
  const isRow = fields.every((field) => field.length === 2) && lines[1]?.startsWith(`${fields[0][0]}: `); // of a table of its own
  if (header >= 0 || isRow) {
    const [names, row] = isRow ? [0, 1].map((side) => fields.map((field) => field[side])) : [lines[header].split(" | "), lines[header + 1].split(" | ")];
    const column = names.findIndex((name, at) => at && /\p{L}{3}.*[^s]$|^\p{L}{3}$/u.test(name) && !NO_NAME.test(name) && /\d/.test(row[at]));
    if (column > 0 && row[0].length > 2) cells.push(`What is the ${inside(names[column].replace(/ \(.*\)$/, ""))} of ${row[0]}?`);
  }
  const title = source.title && !/[\\/]|\.\w{2,4}$/.test(source.title) ? source.title : "";
  return { questions, cells, title: /^\p{Lu}[\p{L} .’'-]{2,40}$/u.test(title) ? [`What is ${title}?`] : [] };
}

/** Some of a list, evenly from all of it. */
const spread = (list, most) => list.filter((_, at) => Math.floor((at * most) / list.length) !== Math.floor(((at - 1) * most) / list.length));

/** Questions that may have an answer, of different kinds in turn. */
async function candidates(signal) {
  const scope = { namespace: namespace() };
  const list = async (kind, limit) => (await request("GET", "/sources", { query: { ...scope, kind, limit }, signal })).sources;
  const read = (source, end) => request("GET", sourcePath(source.id), { query: { namespace: source.namespace, end }, signal });
  const [documents, [facts]] = [await list("document", 200), await list("facts", 1)];
  const files = documents.filter((one) => one.origin === one.id);
  const others = documents.filter((one) => one.origin !== one.id);
  const texts = await Promise.all([...spread(files, LOOKED_AT), ...spread(others, LOOKED_AT - Math.min(files.length, LOOKED_AT - 3))].map((one) => read(one, 8000)));
  const made = texts.map(ofDocument);
  const lines = facts ? (await read(facts, 4000)).text.split("\n").map((line) => line.split("\t")).filter((parts) => parts.length === 3) : [];
  const ofFacts = spread(lines, 4).map(([subject, relation]) => ofFact(subject, relation)).filter(Boolean);
  const kinds = [made.flatMap((one) => one.questions.slice(0, 2)), ofFacts, made.flatMap((one) => one.cells), made.flatMap((one) => one.title)];
  const mixed = [];
  for (let at = 0; kinds.some((one) => at < one.length); at++) mixed.push(...kinds.flatMap((one) => one.slice(at, at + 1)));
  return [...new Set(mixed)];
}

/** Adds questions that have an answer to a list, one by one; their answers are kept for the click. */
async function fillExamples(place) {
  controller = new AbortController();
  const { signal } = controller;
  try {
    for (const question of (await candidates(signal)).slice(0, TRIED)) {
      const answer = await thread.answerTo({ question, options: { collection: namespace() } }, signal);
      if (signal.aborted || place.children.length >= EXAMPLES) return;
      if (answer.shown !== "answer" || answer.abstained) continue;
      place.append(h("li", {}, h("button", { type: "button", class: "example", onclick: () => thread.put(question) }, question)));
      place.parentElement.hidden = false;
    }
  } catch {
    // examples are no more than a help
  }
}

/** Stops trying examples: what the user asks comes first. */
export const stopExamples = () => controller?.abort();

function nothingStored() {
  return [
    h("p", { class: "lead" }, "Nothing is stored yet. Drop files or a folder anywhere on this page, or choose them:"),
    h("p", { class: "buttons" }, h("button", { type: "button", onclick: chooseFiles }, "Choose files"), h("button", { type: "button", class: "light", onclick: chooseFolder }, "Choose a folder")),
    h("p", { class: "quiet" }, "PDF, Word, PowerPoint, Excel, Markdown, web pages, tables, e-mail, exported chats, notebooks, code, and archives of these."),
    h("p", { class: "quiet" }, "From a terminal: ", h("code", {}, "memnet ingest FOLDER"), ". Single facts can be told under ", h("a", { href: "#/remembered" }, "Remembered"), "."),
  ];
}

/** Earlier conversations, each by its first question. */
function earlier() {
  const threads = thread.kept();
  if (!threads.length) return null;
  const link = ({ id, turns }) => {
    const [first] = turns;
    const values = new URLSearchParams({ q: first.question, ...(first.meant ? { meant: first.meant } : {}), ...first.options, thread: id, turn: 1 });
    return h("li", {}, h("a", { href: `#/ask?${values}` }, shorten(first.question, 160)),
      turns.length > 1 ? h("span", { class: "quiet" }, ` and ${count(turns.length - 1, "more question")}`) : null);
  };
  const clear = () => {
    thread.clear();
    show();
    byId("question").focus();
  };
  return h("section", { class: "earlier" }, h("h2", { class: "minor" }, "Earlier conversations"),
    h("ul", { class: "plain" }, threads.map(link)), h("button", { type: "button", class: "light", onclick: clear }, "Clear"));
}

/** Shows what to do with what is stored, or how to store something. */
export async function show() {
  const mine = ++asked;
  stopExamples();
  const place = byId("welcome");
  try {
    const { total } = await request("GET", "/sources", { query: { namespace: namespace(), limit: 1 } });
    if (mine !== asked) return;
    const examples = h("ul", { class: "plain examples" });
    place.replaceChildren(...[
      ...(total ? [h("p", { class: "lead" }, `Answers are quoted from ${count(total, "source")}, each with its place.`)] : nothingStored()),
      total ? h("section", { hidden: true }, h("h2", { class: "minor" }, "For example"), examples) : null,
      earlier(),
    ].filter(Boolean));
    if (total) fillExamples(examples);
  } catch (error) {
    if (mine === asked) place.replaceChildren(failure(error));
  }
}
