/**
 * Prints what one request costs that does not depend on the machine: `deno task bench:count
 * [sqlite|postgres[=URL]] [history]`. It counts functions of `src/` and their calls, allocated bytes, rows of
 * the change log, and on Linux the system calls that read and write files. On Postgres it also
 * counts round trips, statements, messages and notifications, by a proxy. The requests run one
 * after the other, so no request shares a flight or a commit with another one.
 */
import { Session } from "node:inspector/promises";
import { createApp, type ServiceConfig } from "../mod.ts";
import { countingProxy } from "../tests/support/counting_proxy.ts";
import { startPostgresCluster } from "../tests/support/postgres_cluster.ts";
import { median } from "./figures.ts";
import { fillNotes } from "./notes_database.ts";
import { fillPostgresNotes } from "./notes_postgres.ts";
import { scopedNotesService } from "./notes_service.ts";

const [engine = "sqlite", server = ""] = (Deno.args[0] ?? "sqlite").split("=");
/** The number of requests before the measured ones. They fill the caches. */
const warmUp = 300;
/** The number of requests in each measurement of memory, and the number of measurements. */
const [requests, measurements] = [200, 5];

await using opened = new AsyncDisposableStack();
const proxy = engine === "postgres" ? opened.use(countingProxy(await openPostgres())) : null;
const service: ServiceConfig = await scopedNotesService(
  proxy?.url ?? await openFile(),
  Deno.args.includes("history") ? { history: {} } : {},
);
const app = await createApp(service);
opened.defer(() => app.close());

const note = { ownerId: "user-1", title: "A note", body: "Text", status: "published", rank: 7 };
let [patched, deleted] = [0, 10_000];
const operations: Readonly<Record<string, () => Promise<Response>>> = {
  get: () => send("GET", "/7"),
  "list of 20": () => send("GET", "?filter=status==published;rank%3E7&orderBy=rank&limit=20"),
  count: () => send("GET", "/count?filter=rank%3E950"),
  aggregate: () => send("GET", "/aggregate?filter=rank%3E950&groupBy=status&count=true&avg=rank"),
  create: () => send("POST", "", { body: note }),
  "PATCH, If-Match": () => {
    const [row, version] = [1 + patched % 5_000, 1 + Math.floor(patched++ / 5_000)];
    return send("PATCH", `/${row}`, { body: { title: "Another" }, ifMatch: `W/"${version}"` });
  },
  delete: () => send("DELETE", `/${deleted--}`),
};

const session = new Session();
session.connect();
await session.post("Profiler.enable");
const rows: string[][] = [];
for (const [name, request] of Object.entries(operations)) {
  for (let turn = 0; turn < warmUp; turn++) await request();
  await waitForFollowingWork();
  const logged = await loggedRows();
  proxy?.reset();
  const before = fileCalls();
  await request();
  await waitForFollowingWork();
  const after = fileCalls();
  const traffic = proxy?.traffic();
  const inLog = await loggedRows() - logged;
  const run = await functionsOf(request);
  const bytes = await allocatedBytes(request);
  rows.push([
    name,
    ...[run.functions, run.calls, bytes, inLog].map(String),
    ...(traffic === undefined
      ? [before === null || after === null ? "–" : String(after - before)]
      : [traffic.roundTrips, traffic.statements, traffic.messages, traffic.notifications]
        .map(String)),
  ]);
}
session.disconnect();
const columns = ["functions", "calls", "bytes allocated", "rows of the log"];
const ofEngine = proxy === null
  ? ["calls for files"]
  : ["round trips", "statements", "messages", "notifications"];
console.log(`${engine}, Deno ${Deno.version.deno}, one request`);
console.table(
  Object.fromEntries(rows.map(([name = "", ...cells]) => [
    name,
    Object.fromEntries([...columns, ...ofEngine].map((column, at) => [column, cells[at]])),
  ])),
);
await opened.disposeAsync();
Deno.exit(0);

async function send(
  method: string,
  path: string,
  { body, ifMatch }: { readonly body?: object; readonly ifMatch?: string } = {},
): Promise<Response> {
  const json = body === undefined ? null : JSON.stringify(body);
  const headers: Record<string, string> = {};
  if (ifMatch !== undefined) headers["if-match"] = ifMatch;
  if (json !== null) {
    headers["content-type"] = "application/json";
    headers["content-length"] = String(json.length);
  }
  const url = `http://127.0.0.1/api/notes${path}`;
  const response = await app.fetch(new Request(url, { method, headers, body: json }));
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return response;
}

/** Waits for the work that follows a response, such as the reading of the change log. */
function waitForFollowingWork(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 500));
}

async function loggedRows(): Promise<number> {
  const { db } = service;
  if (!("sql" in db)) throw new Error("The benchmark needs a database of `openDatabase`");
  const { rows: [row] } = await db.sql<{ readonly logged: number }>`
    SELECT count(*) AS logged FROM "_service_changes"`;
  return Number(row?.logged);
}

/** Returns the functions of `src/` that one request runs, and how often it calls them. */
async function functionsOf(request: () => Promise<unknown>) {
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await request();
  await session.post("Profiler.takePreciseCoverage");
  await request();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  await session.post("Profiler.stopPreciseCoverage");
  const counts = result
    .filter(({ url }) => url.startsWith(new URL("../src/", import.meta.url).href))
    .flatMap(({ functions }) => functions.map(({ ranges }) => ranges[0]?.count ?? 0))
    .filter((count) => count > 0);
  return { functions: counts.length, calls: counts.reduce((sum, count) => sum + count, 0) };
}

/** Returns the bytes that one request allocates. The task gives V8 much room for new objects. */
async function allocatedBytes(request: () => Promise<unknown>): Promise<number> {
  const figures: number[] = [];
  for (let measurement = 0; measurement < measurements; measurement++) {
    const before = Deno.memoryUsage().heapUsed;
    for (let turn = 0; turn < requests; turn++) await request();
    const bytes = Deno.memoryUsage().heapUsed - before;
    // A garbage collection within the measurement would hide bytes.
    if (bytes > 0) figures.push(bytes / requests);
  }
  return Math.round(median(figures));
}

/** Returns how often this process has read or written a file, or null if the host does not say. */
function fileCalls(): number | null {
  if (Deno.build.os !== "linux") return null;
  const counts = Deno.readTextFileSync("/proc/self/io").matchAll(/^sysc[rw]: (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

async function openPostgres(): Promise<string> {
  if (server !== "") return await fillPostgresNotes(server, "bench_count");
  const cluster = await startPostgresCluster();
  if ("missing" in cluster) throw new Error(cluster.missing);
  opened.defer(() => cluster.stop());
  return await fillPostgresNotes(cluster.url, "bench_count");
}

async function openFile(): Promise<string> {
  const path = await Deno.makeTempFile({ suffix: ".db" });
  opened.defer(() => Deno.remove(path));
  fillNotes(path);
  return path;
}
