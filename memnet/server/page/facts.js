// Facts around an entity as a graph: what leads to it on the left, what it leads to on the right.

import { namespace, request } from "./api.js";
import { announce, byId, count, failure, h, s, shorten } from "./dom.js";

const ROW = 44;
const NARROW = 560; // pixels; below, all stands on the right of the entity
const COLUMN = 190;
const LIMIT = 60;
let asked = 0;

const edgeKey = (subject, relation, object) => JSON.stringify([subject, relation, object]);

/** The facts of a graph with the labels of their ends, and which are on the answer's path. */
function readGraph(found, path) {
  const labels = new Map(found.nodes.map((node) => [node.id, node.label]));
  const keys = new Set(path.map(([subject, relation, object]) => edgeKey(subject, relation, object)));
  const edges = found.edges.map((edge) => ({
    ...edge, path: keys.delete(edgeKey(labels.get(edge.source), edge.relation, labels.get(edge.target))),
  }));
  // Facts of the path that are further away than the graph reaches.
  const ids = new Map([...labels].map(([id, label]) => [label, id]));
  for (const key of keys) {
    const [subject, relation, object] = JSON.parse(key);
    const [source, target] = [subject, object].map((label) => {
      if (!ids.has(label)) {
        ids.set(label, label);
        labels.set(label, label);
      }
      return ids.get(label);
    });
    edges.push({ source, target, relation, path: true });
  }
  return { labels, edges };
}

/** Each node's side (-1, 1), column and parent, breadth first from the entity. */
function placeNodes({ labels, edges }, root, oneSided) {
  const nodes = new Map([[root, { id: root, side: 0, depth: 0, children: [] }]]);
  const queue = [root];
  while (queue.length) {
    const id = queue.shift();
    const node = nodes.get(id);
    for (const edge of edges) {
      if (edge.source !== id && edge.target !== id) continue;
      const outward = edge.source === id;
      const other = outward ? edge.target : edge.source;
      if (nodes.has(other)) continue;
      const side = node.side || (oneSided || outward ? 1 : -1);
      nodes.set(other, { id: other, side, depth: node.depth + 1, children: [], parent: node, edge, outward });
      node.children.push(nodes.get(other));
      queue.push(other);
    }
  }
  for (const node of nodes.values()) {
    node.label = labels.get(node.id) ?? String(node.id);
    node.children.sort((a, b) => a.edge.relation.localeCompare(b.edge.relation));
  }
  return nodes;
}

/** Rows for the leaves of each side, parents beside the middle of their children. */
function layOut(nodes, root, width, oneSided) {
  const centre = nodes.get(root);
  const depth = Math.max(0, ...[...nodes.values()].map((node) => node.depth));
  const step = oneSided ? Math.max(150, (width - 20) / (depth + 1)) : Math.max(COLUMN, width / (2 * depth + 1));
  const rows = { "-1": 0, 1: 0 };
  const place = (node) => {
    node.children.forEach(place);
    if (node === centre) return;
    node.row = node.children.length
      ? (node.children[0].row + node.children.at(-1).row) / 2
      : rows[node.side]++;
  };
  place(centre);
  const most = Math.max(rows[-1], rows[1], 1);
  const middle = oneSided ? 0 : depth * step + step / 2;
  for (const node of nodes.values()) {
    if (node === centre) continue;
    node.y = 26 + (node.row + (most - rows[node.side]) / 2) * ROW;
    node.x = oneSided ? node.depth * step + 12 : middle + node.side * (node.depth * step - step / 2 + 26);
  }
  centre.x = middle;
  centre.y = 26 + ((most - 1) / 2) * ROW;
  return { step, height: most * ROW + 20, width: oneSided ? (depth + 1) * step : (2 * depth + 1) * step };
}

function curve(from, to) {
  const bend = (to.x - from.x) / 2;
  return `M${from.x} ${from.y}C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`;
}

/** Right and left ends of a node's label, where edges begin and end. */
function ends(node, size, oneSided) {
  const half = Math.min(node.label.length, node.letters) * 3.7;
  if (node.depth === 0) {
    return oneSided
      ? { in: { x: 0, y: node.y + 8 }, out: { x: 10, y: node.y + 12 } }
      : { "-1": { x: node.x - half - 12, y: node.y }, 1: { x: node.x + half + 12, y: node.y } };
  }
  return { near: { x: node.x - node.side * 6, y: node.y }, far: { x: node.x + node.side * (2 * half + 8), y: node.y } };
}

function draw(graph, root, width, choose) {
  const oneSided = width < NARROW;
  const nodes = placeNodes(graph, root, oneSided);
  const size = layOut(nodes, root, width, oneSided);
  const drawing = s("svg", { class: "graph", role: "group", "aria-label": `Facts around ${nodes.get(root).label}`, width: size.width, height: size.height, viewBox: `0 0 ${size.width} ${size.height}` });
  for (const node of nodes.values()) {
    node.letters = Math.floor((size.step - 36) / 7.4);
    node.ends = ends(node, size, oneSided);
  }
  const edge = (from, to, one) => s("path", { class: one.path ? "edge path" : "edge", d: curve(from, to) });
  const back = [];
  const front = [];
  for (const node of nodes.values()) {
    if (!node.parent) continue;
    const { parent } = node;
    const from = parent.depth ? parent.ends.far : oneSided ? parent.ends.out : parent.ends[node.side];
    (node.edge.path ? front : back).push(edge(from, node.ends.near, node.edge));
  }
  drawing.append(...back, ...front);
  for (const node of nodes.values()) {
    const anchor = node.depth === 0 && !oneSided ? "middle" : node.side < 0 ? "end" : "start";
    // The arrow stands on the side of the end that the fact leads to.
    const relation = !node.parent ? null : oneSided && !node.outward ? `← ${node.edge.relation}` : node.edge.relation;
    const activate = () => choose(node.label);
    drawing.append(
      s("g", {
        class: `node${node.depth ? "" : " root"}${node.edge?.path ? " path" : ""}`, tabindex: 0, role: "button",
        "aria-label": node.parent ? describe(node, nodes) : node.label,
        onclick: activate,
        onkeydown: (event) => {
          if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            activate();
          }
        },
      },
      s("title", {}, node.label),
      s("rect", { class: "hit", x: anchor === "start" ? node.x - 4 : anchor === "end" ? node.x - node.letters * 7.4 : node.x - size.step / 2, y: node.y - 22, width: anchor === "middle" ? size.step : node.letters * 7.4 + 4, height: 34, rx: 6 }),
      relation ? s("text", { class: "small", x: node.x, y: node.y - 10, "text-anchor": anchor }, shorten(relation, node.letters)) : null,
      s("text", { x: node.x, y: node.y + 5, "text-anchor": anchor }, shorten(node.label, node.letters))));
  }
  return h("div", { class: "scroll", tabindex: size.width > width ? 0 : undefined, role: "group", "aria-label": "Graph" }, drawing);
}

function describe(node) {
  const [subject, object] = node.outward ? [node.parent.label, node.label] : [node.label, node.parent.label];
  return `${subject} ${node.edge.relation} ${object}`;
}

function asList({ labels, edges }) {
  return h("details", {}, h("summary", {}, `As a list: ${count(edges.length, "fact")}`),
    h("ul", { class: "plain" }, edges.map((edge) =>
      h("li", { class: edge.path ? "path" : "" }, h("bdi", {}, [labels.get(edge.source), edge.relation, labels.get(edge.target)].join(" · "))))));
}

/** Shows the facts around an entity; `path` are facts that led to an answer. */
export async function show(entity, path = []) {
  const mine = ++asked;
  byId("entity").value = entity;
  const place = byId("graph");
  try {
    const found = await request("GET", "/facts", { query: { entity, hops: byId("steps").value, namespace: namespace(), limit: LIMIT } });
    if (mine !== asked) return;
    const folded = entity.toLocaleLowerCase();
    const root = found.nodes.find((node) => node.label.toLocaleLowerCase() === folded) ?? found.nodes[0];
    if (!root || !found.edges.length) {
      place.replaceChildren(h("p", { class: "quiet" }, `No fact is known about “${shorten(entity, 80)}”.`));
      return;
    }
    const graph = readGraph(found, path);
    const choose = (label) => (location.hash = `#/facts?${new URLSearchParams({ entity: label })}`);
    const redraw = () => draw(graph, root.id, place.clientWidth, choose);
    place.replaceChildren(redraw(), asList(graph));
    announce(`${count(graph.edges.length, "fact")} around ${root.label}`);
  } catch (error) {
    if (mine === asked) place.replaceChildren(failure(error));
  }
}

/** Connects the form. */
export function start() {
  byId("facts-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const entity = byId("entity").value.trim();
    const hash = `#/facts?${new URLSearchParams({ entity })}`;
    if (location.hash === hash) show(entity);
    else location.hash = hash;
  });
}
