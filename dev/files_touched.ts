/**
 * Counts the files and the functions of `src/` that a warm request runs: `deno task files-touched
 * [--list]`. A file counts if any of its functions ran during the request, by the coverage counters
 * of V8. Functions that ran at import or at start do not count. Fails above the limits.
 */
import { Session } from "node:inspector/promises";
import { all, createApp, integer, openDatabase, resource, table, text } from "../mod.ts";

/** The maximum numbers for a request of each kind. `docs/architecture.md` contains those of files. */
const limits = {
  GET: { files: 55, functions: 305 },
  PATCH: { files: 51, functions: 305 },
} as const;

const authors = table("authors", { id: integer().primaryKey(), name: text().notNull() });
const notes = table("notes", {
  id: integer().primaryKey(),
  authorId: integer().notNull().references(() => authors.id),
  title: text().notNull(),
  rank: integer(),
  version: integer().notNull().default(1),
});

const db = await openDatabase("sqlite::memory:");
await db.createTables([authors, notes]);
// The scope is created once, because it is the user's code and must not count.
const everyRow = all();
const auth = { public: { read: true }, create: () => everyRow, update: () => everyRow };
const authorResource = resource(authors, { id: authors.id, auth });
const noteResource = resource(notes, {
  id: notes.id,
  auth,
  etag: { versionField: notes.version },
  relations: {
    author: { type: "belongsTo", resource: authors, foreignKey: notes.authorId },
  },
});
const app = await createApp({
  db,
  secret: "sixteen or more characters",
  resources: [authorResource, noteResource],
  auth: {
    middleware: async (context, next) => {
      context.set("user", { id: "ada" });
      await next();
    },
  },
});

const title = "Another title";
const requests = {
  GET: () => send("GET", "/notes?filter=rank%3E1;title==*o*&include=author&limit=20"),
  PATCH: async () => {
    tag = await send("PATCH", "/notes/1", { body: { title }, ifMatch: tag });
  },
};
await send("POST", "/authors", { body: { name: "Ada" } });
await send("POST", "/notes", { body: { authorId: 1, title: "One", rank: 2 } });
let tag = await send("GET", "/notes/1");

const root = new URL("../src/", import.meta.url).href;
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
let isWithin = true;
for (const method of ["GET", "PATCH"] as const) {
  const { files, functions } = await touchedBy(requests[method]);
  const most = limits[method];
  if (files.length > most.files || functions > most.functions) isWithin = false;
  console.log(
    `${method}: ${files.length} files of src (at most ${most.files}), ` +
      `${functions} functions (at most ${most.functions})`,
  );
  if (Deno.args.includes("--list")) console.log(files.map((file) => `  ${file}`).join("\n"));
}
session.disconnect();
await app.close();
if (!isWithin) Deno.exit(1);

/** Sends one request. Returns the tag in the response. */
async function send(
  method: string,
  path: string,
  { body, ifMatch }: { readonly body?: unknown; readonly ifMatch?: string } = {},
): Promise<string> {
  const headers = new Headers({ "content-type": "application/json" });
  if (ifMatch !== undefined) headers.set("if-match", ifMatch);
  const content = body === undefined ? null : new TextEncoder().encode(JSON.stringify(body));
  // Every HTTP client sends this header.
  if (content !== null) headers.set("content-length", String(content.byteLength));
  const response = await app.fetch(
    new Request(`http://localhost/api${path}`, {
      method,
      headers,
      ...(content === null ? {} : { body: content }),
    }),
  );
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return response.headers.get("etag") ?? "";
}

/**
 * Returns what a request runs after five others, which fill the caches. Timers of the service can run
 * during a request, so the result is the smallest of three measurements.
 */
async function touchedBy(work: () => Promise<unknown>) {
  for (let request = 1; request < 6; request++) await work();
  const measured = [await measureOnce(work), await measureOnce(work), await measureOnce(work)];
  return measured.reduce((least, one) => one.functions < least.functions ? one : least);
}

async function measureOnce(work: () => Promise<unknown>) {
  // Waits until the work that the first request left in its turn of the event loop is over.
  await new Promise((resolve) => setTimeout(resolve, 10));
  await session.post("Profiler.takePreciseCoverage");
  await work();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const touched = result.filter(({ url }) => url.startsWith(root))
    .map(({ url, functions }) => ({
      file: url.slice(root.length),
      functions: functions.filter(({ ranges: [range] }) => (range?.count ?? 0) > 0).length,
    }))
    .filter(({ functions }) => functions > 0);
  return {
    files: touched.map(({ file }) => file).sort(),
    functions: touched.reduce((sum, { functions }) => sum + functions, 0),
  };
}
