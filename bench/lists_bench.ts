/**
 * Measures many lists, and lists of many rows: `deno task bench:lists [lists] [rows]`.
 *
 * - The resident memory of the service and of the hand-written handler after 1,000,000 lists each,
 *   all with different filters, in turns of 50,000.
 * - A list of 20 by an indexed filter from 10,000,000 rows, compared with 10,000 rows, both by the
 *   service, over one connection, in turns.
 *
 * The large file needs 2.2 GB in the folder for temporary files (`TMPDIR`), and is removed at the
 * end. Reads the memory from `/proc`, so on Linux only.
 */
import { onSignal, residentMb } from "./attack/processes.ts";
import { median } from "./figures.ts";
import { measure } from "./load.ts";
import { fillNotes } from "./notes_database.ts";
import { type BenchServer, startServer } from "./start_server.ts";

const lists = Number(Deno.args[0] ?? 1_000_000);
const rows = Number(Deno.args[1] ?? 10_000_000);
const listsPerTurn = 50_000;
const turns = 5;
const turnMs = 2_000;
const targets = { memory: 1.3, rows: 1.5 };

console.log(`Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores`);
const folder = await Deno.makeTempDir();
onSignal(() => Deno.removeSync(folder, { recursive: true }));
try {
  await compareMemory();
  await compareRows();
} finally {
  await Deno.remove(folder, { recursive: true });
}

async function compareMemory(): Promise<void> {
  console.log(`\nResident memory after lists with different filters, over 32 connections:`);
  await using servers = new AsyncDisposableStack();
  const hand = servers.use(await startServer("hand"));
  const own = servers.use(await startServer("ours"));
  const readings: { readonly hand: number; readonly own: number }[] = [];
  for (let done = 0;;) {
    const reading = {
      hand: await residentMb(hand.pid, "now"),
      own: await residentMb(own.pid, "now"),
    };
    readings.push(reading);
    console.log(`${done.toLocaleString("en").padStart(9)} lists: ${shown(reading)}`);
    if (done >= lists) break;
    const count = Math.min(listsPerTurn, lists - done);
    await sendLists(hand, count, (list) => handWrittenPath(done + list));
    await sendLists(own, count, (list) => ownPath(done + list));
    done += count;
  }
  // A single reading depends on the time of the last garbage collection.
  const late = readings.slice(-Math.ceil(readings.length / 2));
  const medians = {
    hand: median(late.map(({ hand }) => hand)),
    own: median(late.map(({ own }) => own)),
  };
  console.log(`Medians of the later half: ${shown(medians)}`);
  showTarget("memory", medians.own / medians.hand, targets.memory);
}

function shown({ hand, own }: { readonly hand: number; readonly own: number }): string {
  const ratio = (own / hand).toFixed(2);
  return `hand-written ${Math.round(hand)} MB, service ${Math.round(own)} MB, ratio ${ratio}`;
}

async function sendLists(
  { port }: BenchServer,
  count: number,
  pathOf: (list: number) => string,
): Promise<void> {
  await measure({
    port,
    connections: 32,
    durationMs: Infinity,
    mostRequests: count,
    status: 200,
    request: (list) => get(pathOf(list)),
  });
}

/** Returns the hand-written path for the rows of `ownPath` with the same number. */
function handWrittenPath(list: number): string {
  const fraction = String(list).padStart(7, "0");
  return `/api/notes?status=published&over=${rankOf(list)}.${fraction}&limit=20`;
}

/** Returns the path of a list with a unique filter. No row has the key that the filter excludes. */
function ownPath(list: number): string {
  const filter = `status==published;rank%3E${rankOf(list)};id!=${20_000_000 + list}`;
  return `/api/notes?filter=${filter}&orderBy=rank&limit=20`;
}

async function compareRows(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const path = `${folder}/notes.db`;
  fillNotes(path, rows);
  const megabytes = Math.round((await Deno.stat(path)).size / 1e6);
  console.log(
    `\nA list of 20 by an indexed filter from ${rows.toLocaleString("en")} rows ` +
      `(${megabytes.toLocaleString("en")} MB) beside 10,000, one connection, ` +
      `${turns} × ${turnMs / 1_000} s:`,
  );
  const few = newSide("10,000 rows", stack.use(await startServer("ours")));
  const many = newSide("the large file", stack.use(await startServer("ours", path)));
  for (let turn = -1; turn < turns; turn++) {
    // The order alternates, so that a drift of the machine affects both sides equally.
    for (const side of turn % 2 === 0 ? [few, many] : [many, few]) {
      const tookMs: number[] = [];
      const rate = await measure({
        port: side.server.port,
        connections: 1,
        durationMs: turnMs,
        status: 200,
        request: (list) => get(`/api/notes?filter=rank%3E${rankOf(list)}&orderBy=rank&limit=20`),
        onAnswer: (ms) => tookMs.push(ms),
      });
      // The first turn warms up.
      if (turn < 0) continue;
      side.rates.push(rate);
      side.latencies.push(median(tookMs));
    }
  }
  for (const { name, latencies, rates } of [few, many]) {
    console.log(
      `${name.padEnd(14)} median ${(median(latencies) * 1_000).toFixed(0)} µs, ` +
        `${Math.round(median(rates))}/s`,
    );
  }
  showTarget("latency", median(many.latencies) / median(few.latencies), targets.rows);
  showTarget("rate", median(few.rates) / median(many.rates), targets.rows);
}

interface Side {
  readonly name: string;
  readonly server: BenchServer;
  readonly rates: number[];
  /** The medians of the turns, in milliseconds. */
  readonly latencies: number[];
}

function newSide(name: string, server: BenchServer): Side {
  return { name, server, rates: [], latencies: [] };
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: bench\r\n\r\n`;
}

/** Returns a rank that some rows exceed. */
function rankOf(list: number): number {
  return list % 900;
}

function showTarget(name: string, ratio: number, most: number): void {
  const verdict = ratio <= most ? "yes" : "NO";
  console.log(`${name}: ratio ${ratio.toFixed(2)} (at most ${most}: ${verdict})`);
}
