/**
 * Prints where the processor time of a request goes, for the service and the hand-written handler:
 * `deno task bench:shares [get|list|count|aggregate|create] [seconds]`. Needs Linux and `perf`,
 * which samples the stacks of both servers under the same load. The load has 32 connections.
 *
 * The part of the service is its JavaScript, and the native code that its JavaScript calls, such as
 * `JSON.stringify`. The calls to SQLite are a part of their own on both sides.
 */
import { measure } from "./load.ts";
import { createRequest, getRequest, listRequest } from "./note_requests.ts";
import { startServer } from "./start_server.ts";

const [wanted = "get", duration = "6"] = Deno.args;
const durationMs = Number(duration) * 1_000;
const root = new URL("../", import.meta.url).href;

/** The requests of both servers. */
const requests: Readonly<
  Record<string, readonly [hand: (turn: number) => string, ours: (turn: number) => string]>
> = {
  get: [getRequest, getRequest],
  list: [
    (turn) => get(`/api/notes?status=published&over=${turn % 900}&limit=20`),
    listRequest,
  ],
  count: [
    (turn) => get(`/api/count?over=${950 + turn % 40}`),
    (turn) => get(`/api/notes/count?filter=rank%3E${950 + turn % 40}`),
  ],
  aggregate: [
    (turn) => get(`/api/aggregate?over=${950 + turn % 40}`),
    (turn) =>
      get(
        `/api/notes/aggregate?filter=rank%3E${950 + turn % 40}&groupBy=status&count=true&avg=rank`,
      ),
  ],
  create: [createRequest, createRequest],
};

const parts = [
  "kernel",
  "SQLite and its binding",
  "server and engine: V8, Deno",
  "server and engine: JavaScript of Deno",
  "service: JavaScript",
  "service: native code that it calls",
  "libraries, and what they call",
] as const;
type Part = typeof parts[number];

const of = requests[wanted];
if (of === undefined) throw new Error(`Name one of ${Object.keys(requests).join(", ")}`);
const table: Record<string, Record<string, string>> = {};
for (const [index, side] of (["hand", "ours"] as const).entries()) {
  const { shares, microseconds } = await profile(side, of[index]!);
  for (const part of parts) {
    (table[part] ??= {})[side] = ((shares.get(part) ?? 0) * microseconds).toFixed(2);
  }
  (table["together, µs per request"] ??= {})[side] = microseconds.toFixed(1);
}
console.log(`${wanted}, SQLite, Deno ${Deno.version.deno}, 32 connections, ${duration} s`);
console.table(table);

/** Samples one server under load. Returns the share of each part, and the time of a request. */
async function profile(side: "hand" | "ours", request: (turn: number) => string) {
  // V8 writes the addresses of its functions to a file that perf reads.
  await using server = await startServer(side, undefined, ["--v8-flags=--perf-basic-prof"]);
  const status = wanted === "create" ? 201 : 200;
  const load = { port: server.port, connections: 32, status, request };
  await measure({ ...load, durationMs: 4_000 });
  const file = await Deno.makeTempFile();
  try {
    const recording = new Deno.Command("perf", {
      args: [
        ...["record", "-q", "-F", "1999", "-e", "cpu-clock", "-g", "-o", file],
        ...["-p", `${server.pid}`, "--", "sleep", `${durationMs / 1_000}`],
      ],
      stdout: "null",
      stderr: "null",
    }).spawn();
    const before = server.cpuSeconds() ?? NaN;
    const startedAt = performance.now();
    const rate = await measure({ ...load, durationMs });
    const answers = rate * (performance.now() - startedAt) / 1_000;
    const microseconds = ((server.cpuSeconds() ?? NaN) - before) / answers * 1e6;
    if (!(await recording.status).success) throw new Error("perf could not sample the server");
    const script = await new Deno.Command("perf", {
      args: ["script", "-i", file, "-F", "ip,sym,dso"],
      stderr: "null",
    }).output();
    return { shares: sharesOf(new TextDecoder().decode(script.stdout)), microseconds };
  } finally {
    await Deno.remove(file);
    await Deno.remove(`/tmp/perf-${server.pid}.map`).catch(() => {});
  }
}

interface Frame {
  readonly symbol: string;
  readonly file: string;
}

function sharesOf(script: string): ReadonlyMap<Part, number> {
  const counts = new Map<Part, number>();
  const stacks = script.split("\n\n").map(framesOf).filter((frames) => frames.length > 0);
  for (const frames of stacks) {
    const part = partOf(frames);
    counts.set(part, (counts.get(part) ?? 0) + 1 / stacks.length);
  }
  return counts;
}

/** Returns the frames of a stack, the innermost one first. */
function framesOf(text: string): readonly Frame[] {
  return text.split("\n").flatMap((line) => {
    const [, symbol, file] = /^\s*[0-9a-f]+ (.*) \((.*)\)$/.exec(line) ?? [];
    return symbol === undefined || file === undefined ? [] : [{ symbol, file }];
  });
}

function partOf(frames: readonly Frame[]): Part {
  const [innermost] = frames;
  if (innermost === undefined) throw new Error("A stack has a frame");
  // Its system calls, such as those for locks, are a part of SQLite.
  if (frames.some(({ file }) => file.includes("/better-sqlite3/"))) return "SQLite and its binding";
  if (/kernel|^\[/.test(innermost.file) && !/vdso/.test(innermost.file)) return "kernel";
  const isScript = ({ file }: Frame) => file.endsWith(".map");
  const script = frames.find(isScript);
  if (script === undefined) return "server and engine: V8, Deno";
  const isNative = !isScript(innermost);
  if (script.symbol.includes(root)) {
    return isNative ? "service: native code that it calls" : "service: JavaScript";
  }
  if (/\/npm\//.test(script.symbol)) return "libraries, and what they call";
  return isNative ? "server and engine: V8, Deno" : "server and engine: JavaScript of Deno";
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: bench\r\n\r\n`;
}
