/**
 * Compares live streams with a broadcast loop without a database (`live_server.ts bare`), in
 * alternating turns. The servers are separate processes. This process writes and reads over raw
 * TCP. A delay begins when the writer sends a row with that time, and ends when the event has
 * arrived. The delay includes the request, the commit, and the reading of a thousand sockets.
 *
 * deno task bench:live [turns] # SQLite deno task bench:live 5 postgres://…/scratch # and two
 * processes over one Postgres
 */
import { quantile } from "./figures.ts";
import { type LiveServer, startLiveServer } from "./live_process.ts";
import { openStreams, openWriter } from "./live_load.ts";
import { measureRouting } from "./live_routing.ts";
import { rowsPerTopic } from "./live_table.ts";

const turns = Number(Deno.args[0] ?? 3);
const postgres = Deno.args[1];
const lineStart = 60;
const sides = ["ours", "bare"] as const;
type Side = typeof sides[number];

/** The figures of one turn, by name. */
type Figures = Readonly<Record<string, number>>;

interface Target {
  readonly figure: string;
  readonly target: string;
  readonly isMet: (measured: number) => boolean;
}

const folder = await Deno.makeTempDir({ prefix: "resource-api-bench-" });
try {
  console.log(`${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${turns} turns`);
  console.log(["", "target", "measured", "broadcast loop", "ratio"].map(cell).join(""));
  await compare("idle streams", [atLeast("per 100 MB", 1_500)], idle);
  await compare("1 event to 1,000", [
    atMost("last byte p50 ms", null),
    atMost("last byte p99 ms", 10),
    atMost("answer to the writer p50 ms", null),
  ], fanOut);
  await compare("SQLite, 10 of 1,000, 200/s", delayTargets(1.5, 5), (server) => delays(server));
  await compare("20 changes to 1,000", [
    atLeast("deliveries/s", null),
    atLeast("deliveries per s of CPU", 100_000),
  ], coalesced);
  if (postgres !== undefined) await acrossProcesses(postgres);
  await dispatch();
  await slowdown();
} finally {
  await Deno.remove(folder, { recursive: true });
}

/** Measures both sides alternately, each in a fresh process. */
async function compare(
  name: string,
  targets: readonly Target[],
  work: (server: LiveServer) => Promise<Figures>,
): Promise<void> {
  const found: Record<Side, Figures[]> = { ours: [], bare: [] };
  for (let turn = 0; turn < turns; turn++) {
    for (const side of turn % 2 === 0 ? sides : sides.toReversed()) {
      await using server = await startLiveServer(side, `sqlite:${folder}/${name.length}.db`);
      found[side].push(await work(server));
    }
  }
  report(name, targets, found.ours, found.bare);
}

async function idle(server: LiveServer): Promise<Figures> {
  const count = 3_000;
  // The first streams stay open, and so exclude one-time costs: code and a grown heap.
  await using _first = await openStreams({ port: server.port, count: 1_000, topics: 100 });
  const before = await server.residentBytes();
  await using _streams = await openStreams({ port: server.port, count, topics: 100 });
  const each = (await server.residentBytes() - before) / count;
  return { "per 100 MB": 100 * 1024 * 1024 / each };
}

async function fanOut(server: LiveServer): Promise<Figures> {
  const count = 1_000;
  await using streams = await openStreams({ port: server.port, count, topics: 1 });
  const answers = await write(server, 1, { perSecond: 4, seconds: 10 });
  const lasts = [...streams.delays.values()].filter(({ length }) => length === count)
    .map((delays) => delays.at(-1) ?? 0).slice(5);
  return {
    "last byte p50 ms": quantile(lasts, 0.5),
    "last byte p99 ms": quantile(lasts, 0.99),
    "answer to the writer p50 ms": quantile(answers.slice(5), 0.5),
  };
}

/** Measures delays. Ten of a thousand streams read each change. `writer` is the written process. */
async function delays(reader: LiveServer, writer: LiveServer = reader): Promise<Figures> {
  await using streams = await openStreams({ port: reader.port, count: 1_000, topics: 100 });
  const answers = await write(writer, 100, { perSecond: 200, seconds: 5 });
  const all = [...streams.delays.values()].slice(200).flat();
  return {
    "p50 ms": quantile(all, 0.5),
    "p99 ms": quantile(all, 0.99),
    "answer to the writer p50 ms": quantile(answers.slice(200), 0.5),
  };
}

/** The next batch is sent after all clients have received the last one, so that no client lags. */
async function coalesced(server: LiveServer): Promise<Figures> {
  const count = 1_000;
  await using streams = await openStreams({ port: server.port, count, topics: 1 });
  using writer = await openWriter(server.port);
  const send = async () => {
    const stamp = performance.now();
    const arrived = streams.arrived(String(stamp), count * rowsPerTopic);
    await writer.patch("/api/ticks/batch", { filter: "topic==0", patch: { stamp } });
    await arrived;
  };
  for (let batch = 0; batch < 10; batch++) await send();
  const cpuBefore = server.cpuSeconds();
  const startedAt = performance.now();
  const batches = 100;
  for (let batch = 0; batch < batches; batch++) await send();
  const seconds = (performance.now() - startedAt) / 1_000;
  const deliveries = batches * count * rowsPerTopic;
  return {
    "deliveries/s": deliveries / seconds,
    "deliveries per s of CPU": deliveries / (server.cpuSeconds() - cpuBefore),
  };
}

/** Measures delays across processes: one process is written to, another has the streams. */
async function acrossProcesses(url: string): Promise<void> {
  const found: Figures[] = [];
  for (let turn = 0; turn < turns; turn++) {
    await using writer = await startLiveServer("ours", url);
    await using reader = await startLiveServer("ours", url);
    found.push(await delays(reader, writer));
  }
  report("Postgres, two processes, 200/s", delayTargets(5, 15), found, []);
}

async function dispatch(): Promise<void> {
  const equality = (number: number) => `topic==${number}`;
  const range = (number: number) => `topic>${number - 1};topic<${number + 1}`;
  report("10,000 equality filters, µs per event", [
    atMost("matched", 3),
    atMost("matched and framed", null),
  ], [{
    "matched": await measureRouting(equality, "event"),
    "matched and framed": await measureRouting(equality, "bytes"),
  }], []);
  report("10,000 unindexed filters, µs per event", [atMost("matched", 1_000)], [{
    "matched": await measureRouting(range, "event"),
  }], []);
}

/** Runs `changelog_bench.ts`, the separate benchmark of the cost for writers. */
async function slowdown(): Promise<void> {
  const script = new URL("changelog_bench.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", script, ...postgres === undefined ? [] : [postgres]],
    stdout: "piped",
  });
  const text = new TextDecoder().decode((await child.output()).stdout);
  const limits = [30, 30, 20, 20];
  [...text.matchAll(/^(\w+) .*: (-?[\d.]+) % fewer/gm)].forEach(([, work = "", percent], at) => {
    const figure = `${work}, % fewer writes`;
    report(
      at < 2 ? "SQLite, log of changes" : "Postgres, log of changes",
      [
        atMost(figure, limits[at] ?? null),
      ],
      [{ [figure]: Number(percent) }],
      [],
    );
  });
}

/** Writes to one topic after the other at a steady rate. Returns the response times. */
async function write(
  { port }: LiveServer,
  topics: number,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<number[]> {
  const answers: number[] = [];
  const connections = 8;
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: connections }, async (_, first) => {
    using writer = await openWriter(port);
    for (let turn = first; turn < perSecond * seconds; turn += connections) {
      const waitMs = startedAt + turn * 1_000 / perSecond - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      const id = turn % topics * rowsPerTopic;
      answers.push(await writer.patch(`/api/ticks/${id}`, { stamp: performance.now() }));
    }
  }));
  await new Promise((resolve) => setTimeout(resolve, 300));
  return answers;
}

function delayTargets(p50: number, p99: number): readonly Target[] {
  return [
    atMost("p50 ms", p50),
    atMost("p99 ms", p99),
    atMost("answer to the writer p50 ms", null),
  ];
}

function atMost(figure: string, target: number | null): Target {
  return {
    figure,
    target: target === null ? "" : `≤ ${target}`,
    isMet: (measured) => target === null || measured <= target,
  };
}

function atLeast(figure: string, target: number | null): Target {
  return {
    figure,
    target: target === null ? "" : `≥ ${target}`,
    isMet: (measured) => target === null || measured >= target,
  };
}

/** Prints one line for each target, with the medians of the turns. */
function report(
  name: string,
  targets: readonly Target[],
  ours: readonly Figures[],
  bare: readonly Figures[],
): void {
  for (const { figure, target, isMet } of targets) {
    const measured = median(ours, figure);
    const other = median(bare, figure);
    const beside = bare.length === 0 ? [] : [short(other), (measured / other).toFixed(2)];
    const found = `${short(measured)}${isMet(measured) ? "" : " MISSED"}`;
    console.log(
      `${name}: ${figure}`.padEnd(lineStart) + [target || "-", found, ...beside].map(cell).join(""),
    );
  }
}

function cell(text: string, at: number): string {
  return at === 0 && text === "" ? " ".repeat(lineStart) : text.padStart(16);
}

function short(figure: number): string {
  return figure >= 100 ? Math.round(figure).toLocaleString("en") : figure.toFixed(2);
}

function median(turns: readonly Figures[], figure: string): number {
  return quantile(turns.map((figures) => figures[figure] ?? NaN), 0.5);
}
