/**
 * The service beside a hand-written handler (`hand_written.ts`), in turns within one run:
 * `deno task bench:http [seconds per turn] [turns] [part of a name]`. Ratios of medians are the result; the numbers
 * of requests depend on the machine and on what else runs there.
 */
import { median } from "./figures.ts";
import { measure } from "./load.ts";
import { createRequest, getRequest, listRequest, patchRequests } from "./note_requests.ts";
import { startServer } from "./start_server.ts";

const seconds = Number(Deno.args[0] ?? 3);
const turns = Number(Deno.args[1] ?? 5);
const wanted = Deno.args[2] ?? "";
const sides = ["hand", "ours"] as const;
type Side = typeof sides[number];

interface Scenario {
  readonly name: string;
  readonly target: number;
  /** 32 where nothing is said. */
  readonly connections?: number;
  readonly status: number;
  request(side: Side, turn: number): string;
}

const patches: Record<Side, () => string> = { hand: patchRequests(), ours: patchRequests() };

const scenarios: readonly Scenario[] = [
  {
    name: "get by id",
    target: 0.85,
    status: 200,
    request: (_side, turn) => getRequest(turn),
  },
  {
    name: "list of 20",
    target: 0.85,
    status: 200,
    request: (side, turn) =>
      side === "hand"
        ? get(`/api/notes?status=published&over=${turn % 900}&limit=20`)
        : listRequest(turn),
  },
  {
    name: "count",
    target: 0.9,
    status: 200,
    request: (side, turn) =>
      get(
        side === "hand"
          ? `/api/count?over=${over(turn)}`
          : `/api/notes/count?filter=rank%3E${over(turn)}`,
      ),
  },
  {
    name: "aggregate",
    target: 0.9,
    status: 200,
    request: (side, turn) =>
      get(
        side === "hand"
          ? `/api/aggregate?over=${over(turn)}`
          : `/api/notes/aggregate?filter=rank%3E${over(turn)}&groupBy=status&count=true&avg=rank`,
      ),
  },
  // The hand-written handler commits each write by itself; both wait for the disk (FULL).
  { name: "create", target: 5, status: 201, request: createRequest },
  { name: "PATCH, If-Match", target: 4, status: 200, request: (side) => patches[side]() },
  { name: "create by one", target: 0.8, connections: 1, status: 201, request: createRequest },
];

await using servers = new AsyncDisposableStack();
const started = {
  hand: servers.use(await startServer("hand")),
  ours: servers.use(await startServer("ours")),
};
console.log(
  `${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${turns} × ${seconds} s`,
);
for (const { name, target, connections = 32, status, request } of scenarios) {
  if (!name.includes(wanted)) continue;
  const figures: Record<Side, number[]> = { hand: [], ours: [] };
  const costs: Record<Side, number[]> = { hand: [], ours: [] };
  for (let turn = -1; turn < turns; turn++) {
    // The order changes with every turn, so that a drift of the machine meets both sides alike.
    for (const side of turn % 2 === 0 ? sides : [...sides].reverse()) {
      const { port, cpuSeconds } = started[side];
      const before = cpuSeconds() ?? 0;
      const durationMs = turn < 0 ? 1_000 : seconds * 1_000;
      const rate = await measure({
        port,
        connections,
        durationMs,
        status,
        request: (n) => request(side, n),
      });
      if (turn < 0) continue;
      figures[side].push(rate);
      costs[side].push(((cpuSeconds() ?? 0) - before) / (rate * durationMs) * 1e9);
    }
  }
  const [hand, ours] = [median(figures.hand), median(figures.ours)];
  const ratio = ours / hand;
  const [handCost, ourCost] = [median(costs.hand), median(costs.ours)];
  console.log(
    `${name.padEnd(13)} hand-written ${Math.round(hand)}/s, ours ${Math.round(ours)}/s, ` +
      `ratio ${ratio.toFixed(2)} (at least ${target}: ${ratio >= target ? "yes" : "NO"}); ` +
      `processor time ${handCost.toFixed(1)} and ${ourCost.toFixed(1)} µs, ` +
      `ratio ${(handCost / ourCost).toFixed(2)}`,
  );
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: bench\r\n\r\n`;
}

/** Few of the rows: the engine's own time would hide all else. */
function over(turn: number): number {
  return 950 + turn % 40;
}
