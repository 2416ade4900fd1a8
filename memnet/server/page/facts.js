// Facts around an entity as a graph: what leads to it on the left, what it leads to on the right.

import { namespace, request } from "./api.js";
import { announce, byId, count, failure, fit, h, s, shorten } from "./dom.js";

const ROW = 44;
const NARROW = 560; // pixels; below, all stands on the right of the entity
const COLUMN = 150; // least pixels of a column
const GAP = 22; // pixels on either side of a label
const LETTER = 9; // pixels of a letter of the entity's label, about
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

/**
 * Each node's side (-1, 1), column and parent, breadth first from the entity; facts between a node
 * and its parent are its edges, and all others are given beside the nodes.
 */
function placeNodes({ labels, edges }, root, oneSided) {
  const nodes = new Map();
  const crossing = [];
  const add = (id, parent, outward) => {
    const side = parent ? parent.side || (oneSided || outward ? 1 : -1) : 0;
    const node = { id, side, depth: parent ? parent.depth + 1 : 0, children: [], parent, edges: [], label: labels.get(id) ?? String(id) };
    nodes.set(id, node);
    parent?.children.push(node);
    return node;
  };
  const queue = [add(root)];
  const visit = () => {
    while (queue.length) {
      const node = queue.shift();
      for (const { source, target } of edges) {
        const other = source === node.id ? target : target === node.id ? source : null;
        if (other !== null && !nodes.has(other)) queue.push(add(other, node, source === node.id));
      }
    }
  };
  visit();
  for (const { source } of edges) { // what nothing leads to from the entity, such as the end of an answer's path
    if (!nodes.has(source)) {
      queue.push(add(source, nodes.get(root), true));
      visit();
    }
  }
  for (const edge of edges) {
    const [source, target] = [nodes.get(edge.source), nodes.get(edge.target)];
    if (target.parent === source && target !== source) target.edges.push({ ...edge, outward: true });
    else if (source.parent === target) source.edges.push({ ...edge, outward: false });
    else crossing.push({ ...edge, source, target });
  }
  for (const node of nodes.values()) node.children.sort((a, b) => relations(a).localeCompare(relations(b)));
  return { nodes, crossing };
}

/** What a node is to its parent: the relations of all facts between them. */
const relations = (node) => [...new Set(node.edges.map((one) => one.relation))].join(", ");
const onPath = (node) => node.edges.some((one) => one.path);

/** Rows for the leaves of each side, parents beside the middle of their children. */
function layOut(nodes, root, width, oneSided) {
  const centre = nodes.get(root);
  const all = [...nodes.values()];
  const depths = { "-1": 0, 1: 0 };
  const rows = { "-1": 0, 1: 0 };
  for (const node of all) if (node.side) depths[node.side] = Math.max(depths[node.side], node.depth);
  const place = (node) => {
    node.children.forEach(place);
    if (node === centre) return;
    node.row = node.children.length
      ? (node.children[0].row + node.children.at(-1).row) / 2
      : rows[node.side]++;
  };
  place(centre);
  const most = Math.max(rows[-1], rows[1], 1);
  const columns = depths[-1] + depths[1];
  const middle = oneSided ? Math.min(150, width * 0.4) : Math.min(300, 100 + centre.label.length * LETTER);
  const step = Math.max(COLUMN, Math.min(240, (width - middle) / columns));
  const left = depths[-1] * step;
  for (const node of all) {
    if (node === centre) continue;
    node.y = 26 + (node.row + (most - rows[node.side]) / 2) * ROW;
    node.x = node.side > 0 ? left + middle + (node.depth - 1) * step + GAP : left - (node.depth - 1) * step - GAP;
    node.room = step - 2 * GAP;
  }
  centre.x = left + (depths[-1] ? middle / 2 : 0);
  centre.y = 26 + ((most - 1) / 2) * ROW;
  centre.room = middle - 20;
  return { height: most * ROW + 20, width: columns * step + middle, anchor: depths[-1] ? "middle" : "start" };
}

/** Gives each node the points at which edges leave it, which depend on how wide its label is. */
function connect(nodes, anchor) {
  for (const node of nodes.values()) {
    const { x, y, width } = node.text.getBBox();
    const middle = y + 10;
    if (node.side) {
      node.near = { x: node.x - node.side * 6, y: node.y };
      node.far = { x: node.x + node.side * (width + 6), y: node.y };
    } else {
      node.exits = { "-1": { x: x - 8, y: middle }, 1: { x: x + width + 8, y: middle } };
      if (anchor === "start") node.exits[-1] = node.exits[1];
    }
  }
}

function curve(from, to) {
  const bend = (to.x - from.x) / 2;
  return `M${from.x} ${from.y}C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`;
}

const arrow = (id) =>
  s("marker", { id, class: id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" },
    s("path", { d: "M0 1L7 4L0 7z" }));

/** The line between a node and its parent, with a head for each direction that a fact has. */
function edge(node) {
  if (!node.edges.length) return null;
  const from = node.parent.side ? node.parent.far : node.parent.exits[node.side];
  const head = `url(#${onPath(node) ? "path" : "arrow"})`;
  const leads = (outward) => (node.edges.some((one) => one.outward === outward) ? head : undefined);
  return s("path", {
    class: onPath(node) ? "edge path" : "edge", d: curve(from, node.near), "data-facts": node.edges.length,
    "marker-end": leads(true), "marker-start": leads(false),
  });
}

/** A fact between two nodes of which neither is the other's parent, or of a node and itself. */
function crossEdge({ source, target, relation, path }) {
  const [from, to] = [source.near ?? source.exits[target.side || 1], target.near ?? target.exits[source.side || 1]];
  const bend = source === target ? 34 : 18 + Math.abs(to.y - from.y) / 4;
  const out = (source.side || target.side || 1) * -bend;
  const [y, last] = source === target ? [from.y - 14, to.y + 14] : [from.y, to.y];
  const name = `crossing ${path ? "path" : ""}`;
  return [
    s("path", { class: `edge ${name}`, d: `M${from.x} ${from.y}C${from.x + out} ${y} ${to.x + out} ${last} ${to.x} ${to.y}`, "data-facts": 1, "marker-end": `url(#${path ? "path" : "arrow"})` }),
    s("text", { class: `small halo ${name}`, x: (from.x + to.x) / 2 + out * 0.75, y: (from.y + to.y) / 2 + 4, "text-anchor": "middle", "aria-hidden": "true" }, shorten(relation, 24)),
  ];
}

/** What a node says: its facts, or the entity itself. */
function describe(node) {
  if (!node.edges.length) return node.label;
  return node.edges.map((one) => {
    const [subject, object] = one.outward ? [node.parent.label, node.label] : [node.label, node.parent.label];
    return `${subject} ${one.relation} ${object}`;
  }).join("; ");
}

function drawNode(node, anchor, choose) {
  const at = node.side < 0 ? "end" : node.side > 0 ? "start" : anchor;
  const left = { end: node.x - node.room, start: node.x, middle: node.x - node.room / 2 }[at];
  node.text = s("text", { x: node.x, y: node.y + 5, "text-anchor": at, "data-room": node.room }, node.label);
  return s("g", {
    class: `node${node.parent ? "" : " root"}${onPath(node) ? " path" : ""}`, tabindex: 0, role: "button", "aria-label": describe(node),
    onclick: () => choose(node.label),
    onkeydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(node.label);
    },
  },
  s("rect", { class: "hit", x: left - 4, y: node.y - 23, width: node.room + 8, height: 37, rx: 6 }),
  node.text);
}

/** The relation stands above its node, outside it: the node's name for screen readers holds it. */
function drawRelation(node) {
  const at = node.side < 0 ? "end" : "start";
  return s("text", { class: onPath(node) ? "small path" : "small", x: node.x, y: node.y - 10, "text-anchor": at, "data-room": node.room, "aria-hidden": "true" }, relations(node));
}

/** Draws a graph into a container, as wide as that is. */
function draw(container, graph, root, choose) {
  const oneSided = container.clientWidth < NARROW;
  const { nodes, crossing } = placeNodes(graph, root, oneSided);
  const size = layOut(nodes, root, container.clientWidth, oneSided);
  const edges = s("g", {});
  const drawing = s("svg", { class: "graph", role: "group", "aria-label": `Facts around ${nodes.get(root).label}`, width: size.width, height: size.height, viewBox: `0 0 ${size.width} ${size.height}` },
    s("defs", {}, arrow("arrow"), arrow("path")), edges,
    [...nodes.values()].map((node) => drawNode(node, size.anchor, choose)),
    [...nodes.values()].filter((node) => node.parent).map(drawRelation));
  container.replaceChildren(drawing);
  fit(drawing);
  connect(nodes, size.anchor);
  const leading = [...nodes.values()].filter((node) => node.parent);
  const lines = [...leading.filter((node) => !onPath(node)), ...leading.filter(onPath)].map(edge);
  edges.append(...lines.filter(Boolean), ...crossing.flatMap(crossEdge));
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
    const container = h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Graph" });
    const full = found.nodes.length >= LIMIT ? h("p", { class: "quiet" }, `The ${LIMIT} nearest names are shown; choose one to see what is around it.`) : null;
    place.replaceChildren(...[container, full, asList(graph)].filter(Boolean));
    draw(container, graph, root.id, choose);
    announce(`${count(graph.edges.length, "fact")} around ${root.label}`);
  } catch (error) {
    if (mine === asked) place.replaceChildren(failure(error));
  }
}

/** Says what can be shown before a name is given, or how facts come to be stored. */
export async function invite() {
  const mine = ++asked;
  byId("entity").value = "";
  try {
    const found = await request("GET", "/sources", { query: { kind: "facts", namespace: namespace(), limit: 1 } });
    if (mine !== asked) return;
    byId("graph").replaceChildren(found.total
      ? h("p", { class: "quiet" }, "Give a name to see the facts around it.")
      : h("p", { class: "quiet" }, "No table of facts is stored. Drop one of subject, relation and object (.tsv) here or under ",
          h("a", { href: "#/sources" }, "Sources"), ", or run ", h("code", {}, "memnet ingest --facts FILE"), ". What was told is under ",
          h("a", { href: "#/remembered" }, "Remembered"), "."));
  } catch (error) {
    if (mine === asked) byId("graph").replaceChildren(failure(error));
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
