/**
 * One process of the service against two on the same SQLite file, in turns within one run:
 * `deno task bench:processes [seconds per turn] [turns]`. The connections are shared out evenly. One
 * process whose file others have used shows what it costs to take turns, two processes with a file
 * each what the processors allow, which also run the load. Ratios are medians of those of turns that
 * followed each other.
 */
import { median, quantile } from "./figures.ts";
import { measure } from "./load.ts";
import { createRequest, patchRequests } from "./note_requests.ts";
import { type BenchServer, cpuSecondsOf, startServer } from "./start_server.ts";

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
  /** Processor time for a request, in µs. */
  readonly costs: number[];
}

/** By the path of the database file, whose rows each PATCH changes in turn. */
const patches = new Map<string, () => string>();

const scenarios = [
  { name: "create", status: 201, request: createRequest },
  { name: "PATCH, If-Match", status: 200, request: patch },
];

await using started = new AsyncDisposableStack();
const alone = started.use(await startServer("ours"));
const turning = started.use(await startServer("ours"));
for (const end of ["-turn", "-next"]) await Deno.writeTextFile(turning.path + end, "");
const first = started.use(await startServer("ours"));
const second = started.use(await startServer("ours", first.path));
const apart = [started.use(await startServer("ours")), started.use(await startServer("ours"))];
const sides: readonly Side[] = [
  { name: "one process", servers: [alone] },
  { name: "one process, taking turns", servers: [turning] },
  { name: "two processes", servers: [first, second] },
  { name: "two processes, a file each", servers: apart },
];
console.log(
  `${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${turns} × ${seconds} s, ` +
    `${connections} connections`,
);
for (const { name, status, request } of scenarios) {
  const figures = sides.map((): Figures => ({ rates: [], p50: [], p99: [], max: [], costs: [] }));
  for (let turn = -1; turn < turns; turn++) {
    // The order changes with every turn, so that a drift of the machine meets both sides alike.
    for (const index of turn % 2 === 0 ? [0, 1, 2, 3] : [3, 2, 1, 0]) {
      const [side, ofSide] = [sides[index], figures[index]];
      if (side === undefined || ofSide === undefined) continue;
      await loadSide(side, status, request, turn < 0 ? null : ofSide);
    }
  }
  print(name, figures);
}

async function loadSide(
  { servers }: Side,
  status: number,
  request: (path: string) => string,
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
      request: () => request(path),
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

function print(name: string, figures: readonly Figures[]): void {
  figures.forEach(({ rates, p50, p99, max, costs }, index) =>
    console.log(
      `${name}, ${sides[index]?.name}: ${Math.round(median(rates))}/s, ` +
        `p50 ${median(p50).toFixed(1)} ms, p99 ${median(p99).toFixed(1)} ms, ` +
        `slowest ${Math.max(...max).toFixed(0)} ms, ${median(costs).toFixed(0)} µs of processor`,
    )
  );
  const [one, turning, two, apart] = figures;
  if (one === undefined || turning === undefined || two === undefined || apart === undefined) {
    return;
  }
  const ratio = ratioOf(two, one);
  const p99 = median(two.p99);
  const share = ratioOf(turning, one);
  console.log(
    `${name}, one process that takes turns: ${share.toFixed(2)} of one that does not ` +
      `(at least 0.98: ${yes(share >= 0.98)})`,
  );
  console.log(
    `${name}, two processes: ${ratio.toFixed(2)} of one (at least 0.85: ${yes(ratio >= 0.85)}), ` +
      `${ratioOf(two, apart).toFixed(2)} of a file each, which has ` +
      `${ratioOf(apart, one).toFixed(2)} of one; p99 at most 10 ms: ${yes(p99 <= 10)}`,
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
