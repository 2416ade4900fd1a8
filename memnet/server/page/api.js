// Requests to the server.

import { byId } from "./dom.js";

const TOKEN = "memnet.token";

/** The collection that is asked; empty: all of them, or the default one to write in. */
export const namespace = () => byId("namespace").value.trim() || undefined;

/** The address of a source; its id may hold slashes. */
export const sourcePath = (id) => `/sources/${encodeURIComponent(id)}`;

function address(path, query) {
  const values = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(values).toString();
  return search ? `${path}?${search}` : path;
}

function headers(more) {
  const token = sessionStorage.getItem(TOKEN);
  return { ...more, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
}

let asking = null; // what all requests that lack the token wait for

/** Waits for a token from the user. */
function askToken() {
  asking ??= new Promise((resolve) => {
    const dialog = byId("token-dialog");
    dialog.addEventListener("close", () => {
      const token = byId("token").value.trim();
      byId("token").value = "";
      if (token) sessionStorage.setItem(TOKEN, token);
      asking = null;
      resolve(Boolean(token));
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

function message(text, status) {
  try {
    return JSON.parse(text).error.message;
  } catch {
    return `The server answered with status ${status}.`;
  }
}

async function send(method, path, { query, body, signal } = {}) {
  const options = { method, signal, headers: headers(body ? { "Content-Type": "application/json" } : {}) };
  if (body) options.body = JSON.stringify(body);
  let response;
  try {
    response = await fetch(address(path, query), options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server can't be reached; is “memnet serve” running?");
  }
  if (response.status === 401 && (await askToken())) return send(method, path, { query, body, signal });
  if (!response.ok) {
    const error = new Error(message(await response.text(), response.status));
    error.status = response.status;
    throw error;
  }
  return response;
}

/** The JSON that a route answers with. */
export const request = async (method, path, options) => (await send(method, path, options)).json();

/** A picture as a data URL: an image element could not send the token. */
export async function picture(path, query) {
  const blob = await (await send("GET", path, { query })).blob();
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result));
    reader.readAsDataURL(blob);
  });
}

/** Asks; calls `onHop` with each hop as it comes, and gives the answer. */
export async function ask(body, onHop, signal) {
  const response = await send("POST", "/ask/stream", { body, signal });
  const stream = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await stream.read();
    if (done) throw new Error("The server broke off before the answer; ask again.");
    const events = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const lines = event.split("\n");
      const field = (name) =>
        lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trimStart());
      const [kind] = field("event");
      if (!kind) continue; // a comment that keeps the connection open
      const data = JSON.parse(field("data").join("\n"));
      if (kind === "hop") onHop(data);
      else if (kind === "answer") return data;
      else throw new Error(data.error.message);
    }
  }
}

/** Sends files, each with its path in the folder that was chosen; calls `onProgress` with the share that was sent, 0..1. */
export function upload(files, onProgress) {
  const form = new FormData();
  for (const { file, path } of files) form.append("files", file, path);
  if (namespace()) form.append("namespace", namespace());
  return new Promise((resolve, reject) => {
    const sent = new XMLHttpRequest();
    sent.open("POST", "/upload");
    for (const [name, value] of Object.entries(headers())) sent.setRequestHeader(name, value);
    sent.upload.addEventListener("progress", (event) => onProgress(event.loaded / (event.total || 1)));
    sent.addEventListener("load", async () => {
      if (sent.status === 401 && (await askToken())) return resolve(upload(files, onProgress));
      if (sent.status >= 400) return reject(new Error(message(sent.responseText, sent.status)));
      return resolve(JSON.parse(sent.responseText).reports);
    });
    sent.addEventListener("error", () => reject(new Error("The files could not be sent; try again.")));
    sent.send(form);
  });
}
