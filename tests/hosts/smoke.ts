/**
 * A program that runs on Deno, Node and Bun alike, and prints what it was answered: the first
 * argument is the URL of an empty database.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import process from "node:process";
import {
  bytes,
  createApp,
  eq,
  integer,
  json,
  openDatabase,
  resource,
  table,
  text,
  timestamp,
  type User,
} from "../../mod.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text().notNull(),
  attachment: bytes(),
  remindAt: timestamp().as("remind_at"),
  tags: json<string[]>(),
});
const folder = await mkdtemp(`${tmpdir()}/resource-api-page-`);
await writeFile(`${folder}/page.html`, "<!doctype html>".padEnd(2_000, " page"));
await writeFile(`${folder}/data.bin`, new Uint8Array(100_000).fill(7));
const own = (user: User) => eq(notes.ownerId, user.id);
const db = await openDatabase(process.argv[2] ?? "node-sqlite::memory:");
await db.createTables([notes]);
const app = await createApp({
  db,
  kv: ":memory:",
  secret: "sixteen or more characters",
  web: { folder, spa: "page.html" },
  auth: {
    middleware: async (context, next) => {
      context.set("user", { id: context.req.header("x-user") ?? "ada" });
      await next();
    },
  },
  abuseProtection: {
    budget: { classes: { authenticated: { capacity: 100, refillPerMinute: 1 } } },
  },
  resources: [
    resource(notes, {
      id: notes.id,
      auth: { read: own, create: own, update: own, delete: own, subscribe: own },
      etag: {},
    }),
  ],
});

const first = await post({
  title: "tea",
  attachment: "3q2+7w==",
  remindAt: "2026-12-01T09:30:00.123456Z",
  tags: ["a"],
});
await show("created", first);
await show("repeated", await post({ title: "milk" }, "key-1"));
await show("repeated", await post({ title: "milk" }, "key-1"));
await show("base64 that is none", await post({ title: "x", attachment: "3q2+7x==" }));
await show("another's", await post({ title: "x", ownerId: "eve" }));
await show("row", await call("/notes/1"));
await show("changed", await call("/notes/1", { method: "PATCH", body: '{"title":"green tea"}' }));
const page = await (await call("/notes?filter=title=contains=e,id>1&orderBy=title&limit=1")).json();
console.log("page", JSON.stringify(page.items), page.hasMore);
const query = `orderBy=title&limit=1&cursor=${encodeURIComponent(page.nextCursor)}`;
await show("next page", await call(`/notes?filter=title=contains=e,id>1&${query}`));
await show("aggregate", await call("/notes/aggregate?count=true&max=id"));
await showStream();
await show("unknown", await call("/nothing"));
await showFiles();
await app.close();
await rm(folder, { recursive: true });

/** A page, as it is and compressed, a file in parts, and what a browser has of it. */
async function showFiles(): Promise<void> {
  const get = (path: string, headers: Record<string, string> = {}) =>
    app.fetch(new Request(`http://localhost${path}`, { headers }));
  const html = { accept: "text/html" };
  await show("deep link", await get("/deep/link", html));
  const zipped = await get("/deep/link", { ...html, "accept-encoding": "gzip" });
  const unzipped = zipped.body?.pipeThrough(new DecompressionStream("gzip")) ?? null;
  console.log(zipped.headers.get("content-encoding"), (await new Response(unzipped).text()).length);
  const file = await get("/data.bin");
  console.log(file.headers.get("content-length"), (await file.arrayBuffer()).byteLength);
  const etag = file.headers.get("etag") ?? "";
  await show("known", await get("/data.bin", { "if-none-match": etag }));
  await show("outside", await get("/..%2fetc/passwd", html));
}

/** The first events of a stream, and one of a write that happens while it is open. */
async function showStream(): Promise<void> {
  const { body, status } = await call("/notes/subscribe?orderBy=id&select=title");
  console.log("stream", status);
  let received = "";
  let isWritten = false;
  for await (const part of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    received += part;
    if (/^event: existing$/m.test(received) && !isWritten) {
      isWritten = true;
      await post({ title: "bread" });
    }
    if (/^event: added$/m.test(received)) break;
  }
  const events = received.matchAll(/^event: (\w+)$|^data: (.*)$/gm);
  for (const [line] of events) console.log(line);
}

function post(note: Record<string, unknown>, key?: string): Promise<Response> {
  const headers = key === undefined ? {} : { "idempotency-key": key };
  const body = JSON.stringify({ ownerId: "ada", ...note });
  return call("/notes", { method: "POST", body, headers });
}

async function call(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { "content-type": "application/json", ...init.headers };
  return await app.fetch(new Request(`http://localhost/api${path}`, { ...init, headers }));
}

async function show(what: string, answer: Response): Promise<void> {
  const body = await answer.text();
  const tag = answer.headers.get("etag")?.length;
  console.log(what, answer.status, tag ?? "", body.replace(/"instance":"[^"]*",?/, ""));
}
