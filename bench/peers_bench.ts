/**
 * Compares the service with popular alternatives over the same 100,000 rows, in alternating turns:
 * `deno task bench:peers [seconds per turn] [turns]`. The first run needs Go and npm to install the
 * peers into a separate folder. A peer that cannot be installed or started is omitted, and a turn
 * in which a peer fails does not count. Both print the reason. The result is the ratio of medians.
 */
import { onSignal, residentMb } from "./attack/processes.ts";
import { median } from "./figures.ts";
import { measure } from "./load.ts";
import { fillNotes } from "./notes_database.ts";
import { checkAnswers } from "./peers/check_answers.ts";
import { directus } from "./peers/directus.ts";
import { jsonServer } from "./peers/json_server.ts";
import { ours } from "./peers/ours.ts";
import { type Peer, type PeerRequests, rowCount } from "./peers/peer.ts";
import { pocketbase, pocketbaseWithoutLog } from "./peers/pocketbase.ts";
import { freePort, type PeerServer, startPeer } from "./peers/server.ts";
import { supabaseLite } from "./peers/supabase_lite.ts";

const seconds = Number(Deno.args[0] ?? 2);
const turns = Number(Deno.args[1] ?? 5);
const connections = 32;
const operations = [
  ["get", "get"],
  ["list", "list of 20"],
  ["create", "create"],
  ["patch", "PATCH with its version"],
] as const satisfies readonly (readonly [keyof PeerRequests, heading: string])[];
type Operation = typeof operations[number][0];

/** A running peer, and its measured figures. */
interface Running {
  readonly name: string;
  readonly version: string;
  readonly requests: PeerRequests;
  readonly port: number;
  readonly server: PeerServer;
  readonly rates: Record<Operation, number[]>;
}

const programs = Deno.env.get("PEERS_FOLDER") ?? "/tmp/resource-api-peers";
await using started = new AsyncDisposableStack();
const work = await Deno.makeTempDir({ prefix: "resource-api-peers-" });
started.defer(() => Deno.remove(work, { recursive: true }));
onSignal(() => Deno.removeSync(work, { recursive: true }));
const notes = `${work}/notes.db`;
fillNotes(notes, rowCount);

const own = await start(ours);
const running = [own];
for (const peer of [pocketbase, pocketbaseWithoutLog, directus, supabaseLite, jsonServer]) {
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
        console.log(`${one.name}, ${operation}, a turn does not count: ${onOneLine(error)}`);
      });
    }
  }
}
console.log(
  `Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${turns} × ${seconds} s\n`,
);
printTable([
  ["", ...operations.map(([, heading]) => heading), "memory", "start", "version"],
  ...await Promise.all(running.map(cellsOf)),
]);

async function start(peer: Peer): Promise<Running> {
  const data = `${work}/${peer.name.replaceAll(/\W+/g, "-")}`;
  await Deno.mkdir(data);
  const port = freePort();
  const prepared = await peer.prepare({ programs, data, notes, port });
  const { version, requests } = prepared;
  const server = started.use(await startPeer(prepared, port));
  await checkAnswers(port, requests);
  const rates = { get: [], list: [], create: [], patch: [] };
  return { name: peer.name, version, requests, port, server, rates };
}

async function measureOnce(
  { port, requests, rates }: Running,
  operation: Operation,
  purpose: "warm up" | "count",
): Promise<void> {
  const request = requests[operation];
  if (request === undefined) return;
  const { status, text } = request;
  const durationMs = purpose === "count" ? seconds * 1_000 : 1_000;
  const rate = await measure({ port, connections, durationMs, status, request: text });
  if (purpose === "count") rates[operation].push(rate);
}

/** Returns the beginning of an error message, which may contain the whole output of a command. */
function onOneLine(error: unknown): string {
  return String(error).replaceAll(/\s+/g, " ").slice(0, 400);
}

async function cellsOf(
  { name, version, requests, server, rates }: Running,
): Promise<readonly string[]> {
  const figures = operations.map(([operation]) => {
    const rate = median(rates[operation]);
    if (requests[operation] === undefined) return "–";
    if (rate === 0) return "failed";
    const ratio = (median(own.rates[operation]) / rate).toFixed(1);
    return `${rounded(rate)}/s` + (name === own.name ? "" : `, ours ${ratio} ×`);
  });
  const memory = `${rounded(await residentMb(server.pid, "now"))} MB`;
  return [name, ...figures, memory, `${rounded(server.startMs)} ms`, version];
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
