/**
 * The longest task on the event loop that one hostile request causes, by processor time: `deno task
 * bench:pieces [times] [part of a name]`. All other requests wait for such a task. Prints the
 * median of the longest tasks and the ratio to a plain request, and marks figures above the limit.
 * Some kernels count in steps of ten milliseconds.
 */
import { median } from "./figures.ts";
import { startScript } from "./start_server.ts";

const times = Number(Deno.args[0] ?? 5);
const only = Deno.args[1] ?? "";
const boundMs = 50;

interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The number of simultaneous requests. Default: 1. */
  readonly count?: number;
}

const json = { "content-type": "application/json" };
let fresh = 1_000_000;
const some = <T>(count: number, make: (at: number) => T) =>
  Array.from({ length: count }, (_, at) => make(at));
const send = (method: string, path: string, body: unknown): Sent => ({
  ...{ method, path, headers: json, body: JSON.stringify(body) },
});
const note = (id: number, bytes: number) => ({
  ...{ id, authorId: 1, ownerId: "ada", title: "t", body: "word ".repeat(bytes / 5) },
});
const or = (count: number) => encodeURIComponent(some(count, (at) => `id==${at}`).join(","));

const requests: Readonly<Record<string, () => Sent>> = {
  "a row by its key": () => ({ path: "/api/notes/1" }),
  "headers of 8 kB": () => ({ path: "/api/notes/1", headers: { "x-a": "a".repeat(8_000) } }),
  "200 headers of 60 kB": () => ({
    path: "/api/notes/1",
    headers: Object.fromEntries(some(200, (at) => [`x-${at}`, "a".repeat(300)])),
  }),
  "a proof of 30 kB": () => ({ path: "/api/notes/1", headers: { "x-pow": "a:".repeat(15_000) } }),
  "cookies of 30 kB": () => ({
    path: "/api/notes/1",
    headers: { cookie: some(5_000, (at) => `c${at}=1`).join("; ").slice(0, 30_000) },
  }),
  "a page of 100 rows": () => ({ path: "/api/notes?limit=100" }),
  "a filter of 500 terms": () => ({ path: `/api/notes?filter=${or(500)}` }),
  "an order by all columns": () => ({
    path: "/api/notes?orderBy=title,-body,ownerId,-authorId,id&limit=100",
  }),
  "an include of an include, selected": () => ({
    path: "/api/notes?limit=100&select=id,title&include=author(include:notes)",
  }),
  "aggregates with a long having": () => ({
    path: `/api/notes/aggregate?groupBy=title&count=true&avg=id&limit=100&having=${
      encodeURIComponent(some(100, (at) => `count>${-at - 1}`).join(";"))
    }`,
  }),
  "a search for 30 words with highlights": () => ({
    path: `/api/notes/search?q=${"word+".repeat(29)}word&highlight=true&limit=100`,
  }),
  "POST of 1 MB in one value": () => send("POST", "/api/notes", note(fresh++, 1_000_000)),
  "POST of 1 MB of unknown fields": () =>
    send("POST", "/api/notes", Object.fromEntries(some(90_000, (at) => [`k${at}`, 0]))),
  "POST of 1 MB of brackets": () => ({
    ...{ method: "POST", path: "/api/notes", headers: json, body: "[".repeat(1_000_000) },
  }),
  "POST /batch of 1 MB": () =>
    send("POST", "/api/notes/batch", { items: some(100, () => note(fresh++, 9_500)) }),
  "PUT /batch of 1 MB": () =>
    send("PUT", "/api/notes/batch", { items: some(100, (at) => note(at + 1, 9_500)) }),
  "upserts of 1 MB": () =>
    send("POST", "/api/notes/batch/upsert", { items: some(100, (at) => note(at + 201, 9_500)) }),
  "PATCH /batch of 100 rows": () =>
    send("PATCH", "/api/notes/batch", {
      filter: "id>300;id<=400",
      patch: { title: `t${fresh++}` },
    }),
  "a multipart body of 1 MB": () => ({
    method: "POST",
    path: "/api/notes",
    headers: { "content-type": "multipart/form-data; boundary=b" },
    body: some(20_000, (at) => `--b\r\ncontent-disposition: form-data; name=k${at}\r\n\r\n`).join(
      "",
    ).slice(0, 1_000_000),
  }),
  "an RPC of 1 MB": () =>
    send("POST", "/api/notes/rpc/echo", { items: some(80_000, () => ({ a: "b" })) }),
  "an import of 5,000 lines": () => ({
    ...{
      method: "POST",
      path: "/api/notes/import",
      headers: { "content-type": "application/x-ndjson" },
    },
    body: some(5_000, () => JSON.stringify(note(fresh++, 100))).join("\n"),
  }),
  "an import of a line of 1 MB": () => ({
    ...{
      method: "POST",
      path: "/api/notes/import",
      headers: { "content-type": "application/x-ndjson" },
    },
    body: JSON.stringify(note(fresh++, 1_000_000)),
  }),
  "a live stream": () => ({ path: "/api/notes/subscribe" }),
  "5 live streams at once": () => ({ path: "/api/notes/subscribe?limit=100", count: 5 }),
};

await using server = await startScript("pieces_server.ts", []);
const base = `http://127.0.0.1:${server.port}`;
let plainMs: number | null = null;
let above = 0;
for (const [name, make] of Object.entries(requests)) {
  if (plainMs !== null && !name.includes(only)) continue;
  // The first request compiles code and does not count.
  const pieces: number[] = [];
  let statuses: readonly number[] = [];
  for (let time = -1; time < times; time++) {
    const [ms, got] = await longestPiece(make());
    statuses = got;
    if (time >= 0) pieces.push(ms);
  }
  const ms = median(pieces);
  plainMs ??= ms;
  if (ms > boundMs) above++;
  console.log(
    `${name}: ${ms.toFixed(1)} ms, ${
      (ms / Math.max(plainMs, 1)).toFixed(0)
    } times a plain request, status ` +
      `${[...new Set(statuses)]}${ms > boundMs ? ` (at most ${boundMs} ms: NO)` : ""}`,
  );
}
Deno.exitCode = above === 0 ? 0 : 1;

async function longestPiece(sent: Sent): Promise<readonly [number, readonly number[]]> {
  const { path, method = "GET", headers = {}, body = null, count = 1 } = sent;
  await pieceMs();
  const aborting = new AbortController();
  const statuses = await Promise.all(some(count, async () => {
    const { signal } = aborting;
    const response = await fetch(`${base}${path}`, { method, headers, body, signal });
    // A stream never ends, so only its beginning is read.
    if (path.includes("/subscribe")) await response.body?.getReader().read();
    else await response.arrayBuffer();
    return response.status;
  }));
  const ms = await pieceMs();
  aborting.abort();
  return [ms, statuses];
}

async function pieceMs(): Promise<number> {
  return Number(await (await fetch(`${base}/piece`)).text());
}
