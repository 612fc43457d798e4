/**
 * Compares the service with a hand-written handler (`hand_written.ts`, `hand_written_postgres.ts`)
 * in alternating turns: `deno task bench:http [sqlite|postgres[=URL]] [seconds per turn] [turns]
 * [part of a name]`. The resource has ETags and the change log, on Postgres also scopes and fields
 * that depend on the user. Without a URL, the benchmark starts a server whose commits wait for the
 * disk. The result is the ratio of medians, because the numbers of requests depend on the machine.
 */
import { startPostgresCluster } from "../tests/support/postgres_cluster.ts";
import { median } from "./figures.ts";
import { measure } from "./load.ts";
import {
  createRequest,
  deleteRequests,
  getRequest,
  listRequest,
  patchRequests,
} from "./note_requests.ts";
import { fillPostgresNotes } from "./notes_postgres.ts";
import { cpuSecondsOfPostgres, startServer } from "./start_server.ts";

const [engine = "sqlite", server = ""] = (Deno.args[0] ?? "sqlite").split("=");
const seconds = Number(Deno.args[1] ?? 3);
const turns = Number(Deno.args[2] ?? 5);
const wanted = Deno.args[3] ?? "";
const sides = ["hand", "ours"] as const;
type Side = typeof sides[number];

interface Scenario {
  readonly name: string;
  /** The minimum ratio that each engine must reach. */
  readonly target: { readonly sqlite: number; readonly postgres: number };
  /** Number of connections. Default: 32. */
  readonly connections?: number;
  readonly status: number;
  request(side: Side, turn: number): string;
}

const patches: Record<Side, () => string> = { hand: patchRequests(), ours: patchRequests() };
const deletes: Record<Side, () => string> = { hand: deleteRequests(), ours: deleteRequests() };

const scenarios: readonly Scenario[] = [
  {
    name: "get by id",
    target: { sqlite: 0.7, postgres: 0.85 },
    status: 200,
    request: (_side, turn) => getRequest(turn),
  },
  {
    name: "list of 20",
    target: { sqlite: 0.8, postgres: 0.9 },
    status: 200,
    request: (side, turn) =>
      side === "hand"
        ? get(`/api/notes?status=published&over=${turn % 900}&limit=20`)
        : listRequest(turn),
  },
  {
    name: "count",
    target: { sqlite: 0.85, postgres: 0.85 },
    status: 200,
    request: (side, turn) =>
      get(
        side === "hand"
          ? `/api/${ofHand("count")}?over=${over(turn)}`
          : `/api/notes/count?filter=rank%3E${over(turn)}`,
      ),
  },
  {
    name: "aggregate",
    target: { sqlite: 0.8, postgres: 0.8 },
    status: 200,
    request: (side, turn) =>
      get(
        side === "hand"
          ? `/api/${ofHand("aggregate")}?over=${over(turn)}`
          : `/api/notes/aggregate?filter=rank%3E${over(turn)}&groupBy=status&count=true&avg=rank`,
      ),
  },
  // On SQLite, the hand-written handler commits each write separately. Both await the disk.
  { name: "create", target: { sqlite: 4, postgres: 0.9 }, status: 201, request: createRequest },
  {
    name: "PATCH, If-Match",
    target: { sqlite: 3, postgres: 0.8 },
    status: 200,
    request: (side) => patches[side](),
  },
  {
    name: "delete",
    target: { sqlite: 3, postgres: 0.8 },
    status: 204,
    request: (side) => deletes[side](),
  },
  {
    name: "create by one",
    target: { sqlite: 0.8, postgres: 0.8 },
    connections: 1,
    status: 201,
    request: createRequest,
  },
];

await using servers = new AsyncDisposableStack();
const target = engine === "postgres" ? await startPostgres(server) : null;
const url = async (side: Side) =>
  target === null ? undefined : await fillPostgresNotes(target, `bench_${side}`, rows);
const rows = 100_000;
const started = {
  hand: servers.use(await startServer("hand", await url("hand"))),
  ours: servers.use(await startServer(target === null ? "ours" : "scoped", await url("ours"))),
};
console.log(
  `${engine}, ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${turns} × ${seconds} s`,
);
for (const scenario of scenarios) {
  const { name, connections = 32, status, request } = scenario;
  if (!name.includes(wanted) || (name === "delete" && target === null)) continue;
  const figures: Record<Side, number[]> = { hand: [], ours: [] };
  const costs: Record<Side, number[]> = { hand: [], ours: [] };
  const databaseCosts: Record<Side, number[]> = { hand: [], ours: [] };
  for (let turn = -1; turn < turns; turn++) {
    // The order alternates, so that a drift of the machine affects both sides equally.
    for (const side of turn % 2 === 0 ? sides : [...sides].reverse()) {
      const { port, cpuSeconds } = started[side];
      const database = () => target === null ? 0 : cpuSecondsOfPostgres(`bench_${side}`);
      const [before, databaseBefore] = [cpuSeconds() ?? 0, database()];
      const durationMs = turn < 0 ? 1_000 : seconds * 1_000;
      const startedAt = performance.now();
      const rate = await measure({
        port,
        connections,
        durationMs,
        status,
        // Each row can be deleted only once.
        ...(name === "delete" ? { mostRequests: Math.floor(rows / (turns + 1)) } : {}),
        request: (n) => request(side, n),
      });
      if (turn < 0) continue;
      const answers = rate * (performance.now() - startedAt) / 1e9;
      figures[side].push(rate);
      costs[side].push(((cpuSeconds() ?? 0) - before) / answers);
      databaseCosts[side].push((database() - databaseBefore) / answers);
    }
  }
  const [hand, ours] = [median(figures.hand), median(figures.ours)];
  const ratio = ours / hand;
  const least = scenario.target[target === null ? "sqlite" : "postgres"];
  const both = (of: Record<Side, number[]>) =>
    `${median(of.hand).toFixed(0)} and ${median(of.ours).toFixed(0)} µs`;
  console.log(
    `${name.padEnd(15)} hand-written ${Math.round(hand)}/s, ours ${Math.round(ours)}/s, ` +
      `ratio ${ratio.toFixed(2)} (at least ${least}: ${ratio >= least ? "yes" : "NO"}); ` +
      `processor time ${both(costs)}${
        target === null ? "" : `, of the database ${both(databaseCosts)}`
      }`,
  );
}

async function startPostgres(given: string): Promise<string> {
  if (given !== "") return given;
  const cluster = await startPostgresCluster({
    settings: { fsync: "on", synchronous_commit: "on", full_page_writes: "on" },
  });
  if ("missing" in cluster) throw new Error(cluster.missing);
  servers.defer(() => cluster.stop());
  return cluster.url;
}

/** Returns the hand-written handler's name of a request. On SQLite, some of its paths differ. */
function ofHand(name: string): string {
  return engine === "postgres" ? `notes/${name}` : name;
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: bench\r\n\r\n`;
}

/** Returns a rank that few rows exceed. With many rows, the engine's time would hide all else. */
function over(turn: number): number {
  return 950 + turn % 40;
}
