/**
 * Prints where the processor time of requests on SQLite goes: `deno task bench:profile [seconds]`.
 * Each row is one request of `http_bench.ts`. The columns are microseconds per request, from a
 * sampled CPU profile of the service: the code of this service (`src`), the calls of SQLite, Deno's
 * HTTP server with its JavaScript, Hono, and V8's garbage collector and other work. The last column
 * is the processor time of the whole process, which also contains the kernel's work for sockets.
 */
import { cpuSecondsOfProcess } from "./cpu_seconds.ts";
import { measure } from "./load.ts";
import { getRequest, listRequest } from "./note_requests.ts";
import { fillNotes } from "./notes_database.ts";

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
  /** The time before each sample, in microseconds. */
  readonly timeDeltas: readonly number[];
}

type Part = "service" | "SQLite" | "HTTP server" | "Hono" | "V8" | "idle";

const seconds = Number(Deno.args[0] ?? 5);
const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: bench\r\n\r\n`;
const over = (turn: number) => 950 + turn % 40;
const requests: Readonly<Record<string, (turn: number) => string>> = {
  "get by id": getRequest,
  "list of 20": listRequest,
  count: (turn) => get(`/api/notes/count?filter=rank%3E${over(turn)}`),
  aggregate: (turn) =>
    get(`/api/notes/aggregate?filter=rank%3E${over(turn)}&groupBy=status&count=true&avg=rank`),
};

const parts: readonly Part[] = ["service", "SQLite", "HTTP server", "Hono", "V8"];
console.log(["µs per request", ...parts, "whole process"].map(cell).join(""));
for (const [name, request] of Object.entries(requests)) {
  const folder = await Deno.makeTempDir();
  try {
    const { profile, count, cpuSeconds } = await profileOf(folder, request);
    const times = timesOf(profile);
    const figures = parts.map((part) => (times[part] / count).toFixed(1));
    console.log([name, ...figures, (cpuSeconds / count * 1e6).toFixed(1)].map(cell).join(""));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs one server under a load. The profile also contains the start and the first second. */
async function profileOf(folder: string, request: (turn: number) => string) {
  const path = `${folder}/notes.db`;
  fillNotes(path);
  const script = new URL("profiled_server.ts", import.meta.url).pathname;
  const server = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--cpu-prof", "--cpu-prof-interval=200", `--cpu-prof-dir=${folder}`],
      ...["--cpu-prof-name=one.cpuprofile", script, "ours", path],
    ],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = server.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let printed = "";
  while (!/^\d+\n/m.test(printed)) printed += (await reader.read()).value ?? "";
  const port = Number(/^(\d+)\n/m.exec(printed)?.[1]);
  const load = (durationMs: number) =>
    measure({ port, connections: 32, durationMs, status: 200, request });
  await load(1_000);
  const before = cpuSecondsOfProcess(server.pid) ?? NaN;
  const rate = await load(seconds * 1_000);
  const cpuSeconds = (cpuSecondsOfProcess(server.pid) ?? NaN) - before;
  server.kill("SIGTERM");
  await server.status;
  const text = await Deno.readTextFile(`${folder}/one.cpuprofile`);
  // The cast is safe: the interface above has the members of this file format that are in use.
  return { profile: JSON.parse(text) as Profile, count: rate * seconds, cpuSeconds };
}

/** Returns the time of each part in the last seconds of a profile, in microseconds. */
function timesOf({ nodes, samples, timeDeltas }: Profile): Readonly<Record<Part, number>> {
  const partOf = new Map(nodes.map(({ id, callFrame }) => [id, part(callFrame)]));
  const times: Record<Part, number> = {
    ...{ service: 0, SQLite: 0, "HTTP server": 0, Hono: 0, V8: 0, idle: 0 },
  };
  let left = seconds * 1e6;
  for (let at = samples.length - 1; at >= 0 && left > 0; at--) {
    const [id = 0, delta = 0] = [samples[at], timeDeltas[at]];
    times[partOf.get(id) ?? "idle"] += delta;
    left -= delta;
  }
  return times;
}

function part({ functionName, url }: Profile["nodes"][number]["callFrame"]): Part {
  if (functionName === "(idle)" || functionName === "(root)") return "idle";
  // A call of native code is a sample of the function that calls it.
  if (url.endsWith("/better_sqlite3_library.ts")) return "SQLite";
  if (url.includes("/src/")) return "service";
  if (/hono/i.test(url)) return "Hono";
  return url.startsWith("ext:") || functionName.startsWith("op_") ? "HTTP server" : "V8";
}

function cell(text: string): string {
  return text.padEnd(16);
}
