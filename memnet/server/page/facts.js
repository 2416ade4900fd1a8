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

function edge(node) {
  const from = node.parent.side ? node.parent.far : node.parent.exits[node.side];
  const head = `url(#${node.edge.path ? "path" : "arrow"})`;
  return s("path", {
    class: node.edge.path ? "edge path" : "edge", d: curve(from, node.near),
    "marker-end": node.outward ? head : undefined, "marker-start": node.outward ? undefined : head,
  });
}

/** What a node says: its fact, or the entity itself. */
function describe(node) {
  if (!node.parent) return node.label;
  const [subject, object] = node.outward ? [node.parent.label, node.label] : [node.label, node.parent.label];
  return `${subject} ${node.edge.relation} ${object}`;
}

function drawNode(node, anchor, choose) {
  const at = node.side < 0 ? "end" : node.side > 0 ? "start" : anchor;
  const left = { end: node.x - node.room, start: node.x, middle: node.x - node.room / 2 }[at];
  node.text = s("text", { x: node.x, y: node.y + 5, "text-anchor": at, "data-room": node.room }, node.label);
  return s("g", {
    class: `node${node.parent ? "" : " root"}${node.edge?.path ? " path" : ""}`, tabindex: 0, role: "button", "aria-label": describe(node),
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
  return s("text", { class: node.edge.path ? "small path" : "small", x: node.x, y: node.y - 10, "text-anchor": at, "data-room": node.room, "aria-hidden": "true" }, node.edge.relation);
}

/** Draws a graph into a container, as wide as that is. */
function draw(container, graph, root, choose) {
  const oneSided = container.clientWidth < NARROW;
  const nodes = placeNodes(graph, root, oneSided);
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
  edges.append(...leading.filter((node) => !node.edge.path).map(edge), ...leading.filter((node) => node.edge.path).map(edge));
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
    place.replaceChildren(container, asList(graph));
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
      : h("p", { class: "quiet" }, "No facts yet. Drop a table of subject, relation and object (.tsv) here or under ",
          h("a", { href: "#/sources" }, "Sources"), ", or run ", h("code", {}, "memnet ingest --facts FILE"), "."));
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
