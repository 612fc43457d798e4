/**
 * Compares the service with popular alternatives over the same 100,000 rows, in alternating turns:
 * `deno task bench:peers [seconds per turn] [turns] [part of a name]`. The first run needs Go,
 * Cargo and npm to install the peers into a separate folder. A peer that cannot be installed or
 * started is omitted, and a turn in which a peer fails does not count. Both print the reason.
 *
 * The results are medians and their ratios: the requests per second, and the processor time per
 * request of all processes of a server. Some servers use one core, and other servers use all cores.
 */
import { onSignal, residentMb } from "./attack/processes.ts";
import { cpuSecondsOfTree } from "./cpu_seconds.ts";
import { median } from "./figures.ts";
import { measure } from "./load.ts";
import { fillNotes } from "./notes_database.ts";
import { checkAnswers } from "./peers/check_answers.ts";
import { directus } from "./peers/directus.ts";
import { jsonServer } from "./peers/json_server.ts";
import { ours } from "./peers/ours.ts";
import { type Operation, type Peer, type PeerRequests, rowCount } from "./peers/peer.ts";
import { pocketbase, pocketbaseWithoutLog } from "./peers/pocketbase.ts";
import { freePort, type PeerServer, startPeer } from "./peers/server.ts";
import { supabaseLite } from "./peers/supabase_lite.ts";
import { trailbase, trailbaseWithoutLog } from "./peers/trailbase.ts";

const seconds = Number(Deno.args[0] ?? 2);
const turns = Number(Deno.args[1] ?? 5);
const wanted = Deno.args[2] ?? "";
const connections = 32;
const operations = [
  ["get", "get"],
  ["list", "list of 20"],
  ["create", "create"],
  ["patch", "PATCH with its version"],
] as const satisfies readonly (readonly [Operation, heading: string])[];
const peers = [
  trailbase,
  trailbaseWithoutLog,
  pocketbase,
  pocketbaseWithoutLog,
  directus,
  supabaseLite,
  jsonServer,
];

/** A running peer, and its measured figures. */
interface Running {
  readonly peer: Peer;
  readonly version: string;
  readonly requests: PeerRequests;
  readonly port: number;
  readonly server: PeerServer;
  /** Requests per second, of each turn. */
  readonly rates: Figures;
  /** Processor time per request in microseconds, of each turn. */
  readonly costs: Figures;
}

type Figures = Record<Operation, number[]>;

const programs = Deno.env.get("PEERS_FOLDER") ?? "/tmp/resource-api-peers";
await using started = new AsyncDisposableStack();
const work = await Deno.makeTempDir({ prefix: "resource-api-peers-" });
started.defer(() => Deno.remove(work, { recursive: true }));
onSignal(() => Deno.removeSync(work, { recursive: true }));
const notes = `${work}/notes.db`;
fillNotes(notes, rowCount);

const own = await start(ours);
const running = [own];
for (const peer of peers) {
  if (!peer.name.includes(wanted)) continue;
  await start(peer).then(
    (one) => running.push(one),
    (error) => console.log(`${peer.name} is left out: ${onOneLine(error)}`),
  );
}
for (const [operation] of operations) {
  for (let turn = -1; turn < turns; turn++) {
    // The order alternates, so that a drift of the machine affects all peers equally.
    for (const one of turn % 2 === 0 ? running : running.toReversed()) {
      await measureOnce(one, operation, turn < 0 ? "warm up" : "count").catch((error) => {
        if (one === own) throw error;
        console.log(`${one.peer.name}, ${operation}, a turn does not count: ${onOneLine(error)}`);
      });
    }
  }
}
console.log(
  `Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${turns} × ${seconds} s\n`,
);
printTable([
  [
    "requests per second",
    ...operations.map(([, heading]) => heading),
    "memory",
    "start",
    "version",
  ],
  ...await Promise.all(running.map(async (one) => [
    ...cellsOf(one, "rates", "/s", 1),
    `${rounded(await residentMb(one.server.pid, "now"))} MB`,
    `${rounded(one.server.startMs)} ms`,
    one.version,
  ])),
]);
console.log("");
printTable([
  ["processor time per request", ...operations.map(([, heading]) => heading)],
  ...running.map((one) => cellsOf(one, "costs", " µs", 2)),
]);
console.log("");
for (const one of running) {
  for (const [operation, heading] of operations) printVerdict(one, operation, heading);
}

async function start(peer: Peer): Promise<Running> {
  const data = `${work}/${peer.name.replaceAll(/\W+/g, "-")}`;
  await Deno.mkdir(data);
  const port = freePort();
  const prepared = await peer.prepare({ programs, data, notes, port });
  const { version, requests } = prepared;
  const server = started.use(await startPeer(prepared, port));
  await checkAnswers(port, requests);
  const noFigures = () => ({ get: [], list: [], create: [], patch: [] });
  return { peer, version, requests, port, server, rates: noFigures(), costs: noFigures() };
}

async function measureOnce(
  { port, requests, server, rates, costs }: Running,
  operation: Operation,
  purpose: "warm up" | "count",
): Promise<void> {
  const request = requests[operation];
  if (request === undefined) return;
  const { status, text } = request;
  const durationMs = purpose === "count" ? seconds * 1_000 : 1_000;
  const cpuSeconds = () => cpuSecondsOfTree(server.pid) ?? NaN;
  const before = cpuSeconds();
  let answers = 0;
  const onAnswer = () => void answers++;
  const rate = await measure({ port, connections, durationMs, status, request: text, onAnswer });
  if (purpose === "warm up") return;
  rates[operation].push(rate);
  costs[operation].push((cpuSeconds() - before) / answers * 1e6);
}

/** Returns the beginning of an error message, which may contain the whole output of a command. */
function onOneLine(error: unknown): string {
  return String(error).replaceAll(/\s+/g, " ").slice(0, 400);
}

/** Returns the name of a peer, and its figures with the ratios of the service to the peer. */
function cellsOf(
  { peer, requests, ...figures }: Running,
  kind: "rates" | "costs",
  unit: string,
  digits: number,
): readonly string[] {
  const cells = operations.map(([operation]) => {
    const figure = median(figures[kind][operation]);
    if (requests[operation] === undefined) return "–";
    if (figure === 0) return "failed";
    const ratio = (median(own[kind][operation]) / figure).toFixed(digits);
    return `${rounded(figure)}${unit}` + (peer === ours ? "" : `, ours ${ratio} ×`);
  });
  return [peer.name, ...cells];
}

/** Prints if the service needs as little processor time as wanted, compared with a peer. */
function printVerdict({ peer, costs }: Running, operation: Operation, heading: string): void {
  const most = peer.mostCost?.[operation];
  const cost = median(costs[operation]);
  if (most === undefined || cost === 0) return;
  const ratio = median(own.costs[operation]) / cost;
  console.log(
    `${heading}, processor time, ours / ${peer.name}: ratio ${ratio.toFixed(2)} ` +
      `(at most ${most}: ${ratio <= most ? "yes" : "NO"})`,
  );
}

function rounded(figure: number): string {
  return Math.round(figure).toLocaleString("en");
}

function printTable([head = [], ...body]: readonly (readonly string[])[]): void {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...body].map((cells) => cells[column]?.length ?? 0))
  );
  for (const cells of [head, widths.map((width) => "-".repeat(width)), ...body]) {
    console.log(`| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`);
  }
}
