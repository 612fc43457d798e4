/**
 * Compares one process of the service with two processes on the same SQLite file, in alternating
 * turns: `deno task bench:processes [seconds per turn] [turns]`. Connections are distributed
 * evenly, except between two workers of one port. One process on a formerly shared file shows the
 * cost of file locks. Two processes with separate files show what the processors allow. The result
 * is the median ratio of successive turns.
 */
import { median, quantile } from "./figures.ts";
import { measure } from "./load.ts";
import { createRequest, getRequest, listRequest, patchRequests } from "./note_requests.ts";
import { type BenchServer, cpuSecondsOf, startServer, startWorkers } from "./start_server.ts";

const seconds = Number(Deno.args[0] ?? 3);
const turns = Number(Deno.args[1] ?? 7);
const connections = 32;

interface Side {
  readonly name: string;
  readonly servers: readonly BenchServer[];
}

interface Figures {
  readonly rates: number[];
  readonly p50: number[];
  readonly p99: number[];
  readonly max: number[];
  /** Processor time of a request, in µs. */
  readonly costs: number[];
}

interface Scenario {
  readonly name: string;
  readonly status: number;
  /** The ratio to one process that two workers must reach. */
  readonly target: number;
  /** True if the request writes. */
  readonly isWrite: boolean;
  /** Returns the request of a turn. `path` is the path of the database. */
  request(path: string, turn: number): string;
}

/** The PATCH requests, by the path of the database file. */
const patches = new Map<string, () => string>();

const scenarios: readonly Scenario[] = [
  {
    name: "get by id",
    status: 200,
    target: 1.4,
    isWrite: false,
    request: (_path, turn) => getRequest(turn),
  },
  {
    name: "list of 20",
    status: 200,
    target: 1.4,
    isWrite: false,
    request: (_path, turn) => listRequest(turn),
  },
  { name: "create", status: 201, target: 0.85, isWrite: true, request: createRequest },
  { name: "PATCH, If-Match", status: 200, target: 0.85, isWrite: true, request: patch },
];

await using started = new AsyncDisposableStack();
const alone = started.use(await startServer("ours"));
const turning = started.use(await startServer("ours"));
for (const end of ["-turn", "-next"]) await Deno.writeTextFile(turning.path + end, "");
const first = started.use(await startServer("ours"));
const second = started.use(await startServer("ours", first.path));
const apart = [started.use(await startServer("ours")), started.use(await startServer("ours"))];
const workers = started.use(await startWorkers(2));
const one: Side = { name: "one process", servers: [alone] };
const takingTurns: Side = { name: "one process, taking turns", servers: [turning] };
const two: Side = { name: "two processes", servers: [first, second] };
const twoApart: Side = { name: "two processes, a file each", servers: apart };
const twoWorkers: Side = { name: "--workers 2", servers: [workers] };
const readingSides = [one, two, twoWorkers];
const writingSides = [one, takingTurns, two, twoApart, twoWorkers];

console.log(
  `${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${turns} × ${seconds} s, ` +
    `${connections} connections`,
);
for (const scenario of scenarios) {
  const sides = scenario.isWrite ? writingSides : readingSides;
  const figures = new Map(sides.map((side) => [side, emptyFigures()]));
  for (let turn = -1; turn < turns; turn++) {
    // The order alternates, so that a drift of the machine affects both sides equally.
    for (const side of turn % 2 === 0 ? sides : sides.toReversed()) {
      await loadSide(side, scenario, turn < 0 ? null : figures.get(side) ?? null);
    }
  }
  print(scenario, figures);
}

function emptyFigures(): Figures {
  return { rates: [], p50: [], p99: [], max: [], costs: [] };
}

async function loadSide(
  { servers }: Side,
  { status, request }: Scenario,
  figures: Figures | null,
): Promise<void> {
  const durationMs = figures === null ? 1_000 : seconds * 1_000;
  const tookMs: number[] = [];
  const before = cpuSecondsOf(servers);
  const rates = await Promise.all(servers.map(({ port, path }) =>
    measure({
      port,
      connections: connections / servers.length,
      durationMs,
      status,
      request: (turn) => request(path, turn),
      onAnswer: (ms) => tookMs.push(ms),
    })
  ));
  if (figures === null) return;
  const rate = rates.reduce((sum, one) => sum + one, 0);
  figures.rates.push(rate);
  figures.p50.push(quantile(tookMs, 0.5));
  figures.p99.push(quantile(tookMs, 0.99));
  figures.max.push(quantile(tookMs, 1));
  figures.costs.push((cpuSecondsOf(servers) - before) / tookMs.length * 1e6);
}

function print(
  { name, target, isWrite }: Scenario,
  figures: ReadonlyMap<Side, Figures>,
): void {
  const of = (side: Side) => figures.get(side) ?? emptyFigures();
  for (const [side, { rates, p50, p99, max, costs }] of figures) {
    console.log(
      `${name}, ${side.name}: ${Math.round(median(rates))}/s, ` +
        `p50 ${median(p50).toFixed(1)} ms, p99 ${median(p99).toFixed(1)} ms, ` +
        `slowest ${Math.max(...max).toFixed(0)} ms, ${median(costs).toFixed(0)} µs of processor`,
    );
  }
  for (const side of [two, twoWorkers]) {
    const ratio = ratioOf(of(side), of(one));
    const isQuick = median(of(side).p99) <= 10;
    console.log(
      `${name}, ${side.name}: ${ratio.toFixed(2)} of one process ` +
        `(at least ${target}: ${yes(ratio >= target)})` +
        (isWrite ? `, p99 at most 10 ms: ${yes(isQuick)}` : ""),
    );
  }
  if (!isWrite) return;
  const share = ratioOf(of(takingTurns), of(one));
  console.log(
    `${name}, one process that takes turns: ${share.toFixed(2)} of one that does not ` +
      `(at least 0.98: ${yes(share >= 0.98)})`,
  );
  console.log(
    `${name}, two processes: ${ratioOf(of(two), of(twoApart)).toFixed(2)} of a file each, ` +
      `which has ${ratioOf(of(twoApart), of(one)).toFixed(2)} of one`,
  );
}

function ratioOf(some: Figures, others: Figures): number {
  return median(some.rates.map((rate, turn) => rate / (others.rates[turn] ?? NaN)));
}

function yes(isMet: boolean): string {
  return isMet ? "yes" : "NO";
}

function patch(path: string): string {
  const next = patches.get(path) ?? patchRequests();
  patches.set(path, next);
  return next();
}
