/**
 * Expensive reads of a table of millions of rows, all simultaneously: an aggregate without an
 * index, twelve counts and a filter of twenty patterns. First their clients wait for the responses,
 * then they disconnect after half a second. Concurrently, another client measures its waits:
 *
 * deno task bench:scan [--rows 5000000] [--engines sqlite,postgres] [--postgres postgres://…]
 *
 * The exit code is 1 if a read does not end in time, or if another client waits much longer than
 * the clients of an idle server.
 */
import { parseArgs } from "node:util";
import { openDatabase } from "../mod.ts";
import { type BenchDatabase, databaseOptions, withDatabases } from "./attack/databases.ts";
import { residentMb, startProcess } from "./attack/processes.ts";
import type { Scan } from "./attack/scans.ts";
import {
  figuresOf,
  printRow,
  showIdle,
  showWaits,
  startIdleServer,
  startService,
  watchOthers,
} from "./attack/service_process.ts";
import { cpuSecondsOfProcess } from "./cpu_seconds.ts";

const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    rows: { type: "string", default: "5000000" },
    ...databaseOptions,
  },
});

/** `queryTimeoutMs` is 5,000 ms. Noticing an aborted statement and responding takes time too. */
const limits = { waitMs: 50, readMs: 6_000 };

console.log(
  `Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${options.rows} rows; ` +
    `milliseconds at p99 before → during the reads (longest); "idle" is a server beside it that ` +
    `has nothing to do\n`,
);
printRow(["clients", "database", "/healthz", "row by key", "idle", "peak MB", "reads ended", ""]);
printRow(Array.from({ length: 8 }, () => "---"));
let bad = 0;
await withDatabases({
  ...options,
  postgres: options.postgres,
  rows: Number(options.rows),
  content: "scans",
}, scanBoth);
console.log(bad === 0 ? "\nAll within the limits." : `\n${bad} beyond the limits.`);
Deno.exitCode = bad === 0 ? 0 : 1;

async function scanBoth(database: BenchDatabase): Promise<void> {
  if (!await measure(database, "wait")) bad++;
  if (!await measure(database, "leave")) bad++;
}

/** Measures the reads of one database. Returns true if all figures stayed within the limits. */
async function measure(
  { engine, url }: BenchDatabase,
  clients: "wait" | "leave",
): Promise<boolean> {
  await using service = await startService(url, "scans", { isVerbose: options.verbose });
  await using idle = await startIdleServer();
  const { port, process } = service;
  const before = await watchOthers([port, "3"]);
  const watching = Promise.all([watchOthers([port, "12"]), watchOthers([idle.port, "12"])]);
  await using scanner = startProcess("scans.ts", [port, clients], {
    isNice: true,
    isVerbose: options.verbose,
  });
  const scans = await figuresOf<readonly Scan[]>(scanner);
  const leftAt = performance.now();
  const isBusy = engine === "postgres" ? await runningStatements(url) : usesCpu(process.pid);
  const endedMs = clients === "wait" ? 0 : await timeUntilIdle(isBusy, leftAt);
  const [during, machine] = await watching;
  const longestMs = clients === "wait" ? Math.max(...scans.map((one) => one.ms)) : endedMs;
  const added = Math.max(
    during.healthz.max - Math.max(before.healthz.max, machine.healthz.max),
    during.row.max - Math.max(before.row.max, machine.row.max),
  );
  const faults = [
    ...(added > limits.waitMs ? ["delay"] : []),
    ...(during.healthz.failures + during.row.failures > 0 ? ["failures"] : []),
    ...(longestMs > limits.readMs ? ["reads go on"] : []),
  ];
  printRow([
    clients,
    engine,
    showWaits(before.healthz, during.healthz),
    showWaits(before.row, during.row),
    showIdle(machine),
    String(Math.round(await residentMb(process.pid, "peak"))),
    clients === "wait"
      ? scans.map(({ name, status, ms }) => `${name} ${status} ${Math.round(ms)} ms`).join(", ")
      : `${Math.round(endedMs)} ms after their clients left`,
    faults.length === 0 ? "ok" : `**${faults.join(", ")}**`,
  ]);
  return faults.length === 0;
}

/** Returns the time from `from` until the system was idle for a second. */
async function timeUntilIdle(
  isBusy: () => boolean | Promise<boolean>,
  from: number,
): Promise<number> {
  let busyUntil = from;
  while (performance.now() < busyUntil + 1_000 && busyUntil < from + 60_000) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (await isBusy()) busyUntil = performance.now();
  }
  return busyUntil - from;
}

/** Returns a function that reports if a statement of the service still reads the table. */
async function runningStatements(url: string): Promise<() => Promise<boolean>> {
  const db = await openDatabase(url);
  const text = `SELECT count(*) FROM pg_stat_activity
    WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE '%readings%'`;
  return async () => Number((await db.driver.query({ text, values: [] })).rows[0]?.[0]) > 0;
}

/** Returns a function that reports if the service has used more time than clients need. */
function usesCpu(pid: number): () => boolean {
  let lastAt = performance.now();
  let last: number | null = null;
  return () => {
    const used = cpuSecondsOfProcess(pid) ?? 0;
    const now = performance.now();
    const isBusy = last === null || (used - last) * 1_000 > (now - lastAt) * 0.15;
    [last, lastAt] = [used, now];
    return isBusy;
  };
}
