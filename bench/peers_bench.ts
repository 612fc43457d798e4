/**
 * The service beside what people choose today, with the same 100,000 rows, one load, in turns:
 * `deno task bench:peers [seconds per turn] [turns]`. Needs Go and npm for the first run, which
 * installs the peers into a folder of its own. The ratios of medians are the result.
 */
import { median } from "./figures.ts";
import { measure } from "./load.ts";
import { fillNotes } from "./notes_database.ts";
import { jsonServer } from "./peers/json_server.ts";
import { ours } from "./peers/ours.ts";
import {
  type Peer,
  type PeerRequests,
  type PreparedPeer,
  rowCount,
  untilListening,
} from "./peers/peer.ts";
import { pocketbase } from "./peers/pocketbase.ts";
import { supabaseLite } from "./peers/supabase_lite.ts";

const seconds = Number(Deno.args[0] ?? 2);
const turns = Number(Deno.args[1] ?? 5);
const connections = 32;
const operations = ["get", "list", "create"] as const satisfies readonly (keyof PeerRequests)[];
type Operation = typeof operations[number];

/** A peer that listens, and what was measured of it. */
interface Running extends PreparedPeer {
  readonly name: string;
  readonly process: Deno.ChildProcess;
  /** From the start of its process to its first accepted connection. */
  readonly startMs: number;
  readonly rates: Record<Operation, number[]>;
}

const programs = Deno.env.get("PEERS_FOLDER") ?? "/tmp/resource-api-peers";
const work = await Deno.makeTempDir({ prefix: "resource-api-peers-" });
const notes = `${work}/notes.db`;
fillNotes(notes, rowCount);

const running: Running[] = [];
try {
  for (const peer of [ours, pocketbase, supabaseLite, jsonServer]) running.push(await start(peer));
  console.log(
    `${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${turns} × ${seconds} s`,
  );
  for (const operation of operations) {
    for (let turn = -1; turn < turns; turn++) {
      // The order changes with every turn, so that a drift of the machine meets all alike.
      for (const one of turn % 2 === 0 ? running : running.toReversed()) {
        const rate = await rateOf(one, operation, turn < 0 ? 1 : seconds);
        if (turn >= 0) one.rates[operation].push(rate);
      }
    }
  }
  report();
} finally {
  for (const { process } of running) {
    process.kill("SIGKILL");
    await process.status;
  }
  await Deno.remove(work, { recursive: true });
}

async function start(peer: Peer): Promise<Running> {
  const data = `${work}/${peer.name.replaceAll(" ", "-")}`;
  await Deno.mkdir(data);
  const prepared = await peer.prepare({ programs, data, notes });
  const { command: [program, ...args], env = {}, cwd = data, port } = prepared;
  const startedAt = performance.now();
  const options = { args, env, cwd, stdout: "null", stderr: "inherit" } as const;
  const process = new Deno.Command(program, options).spawn();
  await untilListening(port);
  const startMs = performance.now() - startedAt;
  return {
    ...prepared,
    name: peer.name,
    process,
    startMs,
    rates: { get: [], list: [], create: [] },
  };
}

function rateOf(
  { name, port, requests }: Running,
  operation: Operation,
  forSeconds: number,
): Promise<number> {
  const { status } = requests[operation](0);
  return measure({
    port,
    connections,
    durationMs: forSeconds * 1_000,
    status,
    request: (turn) => requests[operation](turn).text,
  }).catch((error) => {
    throw new Error(`${name}, ${operation}`, { cause: error });
  });
}

function report(): void {
  const [first] = running;
  if (first === undefined) return;
  for (const { name, version, rates, startMs, process } of running) {
    const figures = operations.map((operation) => {
      const rate = median(rates[operation]);
      const ratio = median(first.rates[operation]) / rate;
      return `${operation} ${Math.round(rate)}/s (ours ${ratio.toFixed(1)} ×)`;
    });
    console.log(
      `${name} ${version}: ${figures.join(", ")}; ` +
        `resident ${residentMegabytes(process.pid)} MB, start ${Math.round(startMs)} ms`,
    );
  }
}

function residentMegabytes(pid: number): string {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(Deno.readTextFileSync(`/proc/${pid}/status`));
  return found === null ? "?" : String(Math.round(Number(found[1]) / 1_024));
}
