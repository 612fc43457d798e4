/**
 * Attacks a service with default limits through one and fifty connections. Concurrently, another
 * client measures the response times of `/healthz` and of a row by its key:
 *
 * deno task bench:attack # ten seconds each, SQLite and Postgres deno task bench:attack --seconds
 * 60 # as in docs/reliability.md deno task bench:attack --engines sqlite,node-sqlite --only
 * "patterns" deno task bench:attack --postgres postgres://…/scratch
 *
 * Each attack has a separate service process, whose response times before and during the attack are
 * compared. Prints a table. The exit code is 1 if a limit is exceeded. `scan_bench.ts` measures a
 * table of millions of rows.
 */
import { parseArgs } from "node:util";
import type { Got } from "./attack/attacker.ts";
import { type Attack, attacks } from "./attack/attacks.ts";
import { type BenchDatabase, databaseOptions, withDatabases } from "./attack/databases.ts";
import type { OthersFigures } from "./attack/others.ts";
import { type Process, residentMb, startProcess } from "./attack/processes.ts";
import {
  figuresOf,
  printRow,
  showWaits,
  startService,
  watchOthers,
} from "./attack/service_process.ts";

const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    seconds: { type: "string", default: "10" },
    only: { type: "string", default: "" },
    ...databaseOptions,
  },
});
const seconds = Number(options.seconds);
const baselineSeconds = 3;

/** The limits that no attack may exceed. */
const limits = { residentMb: 600, delayMs: 50 };

console.log(
  `Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${seconds} s each; ` +
    `milliseconds at p99 before → during the attack (longest), failures\n`,
);
printRow(["attack", "connections", "database", "/healthz", "row by key", "peak MB", "got", ""]);
printRow(Array.from({ length: 8 }, () => "---"));
let bad = 0;
await withDatabases({ ...options, postgres: options.postgres, content: "attacks" }, attackAll);
console.log(bad === 0 ? "\nAll within the limits." : `\n${bad} beyond the limits.`);
Deno.exitCode = bad === 0 ? 0 : 1;

async function attackAll(database: BenchDatabase): Promise<void> {
  for (const attack of attacks.filter(({ name }) => name.includes(options.only))) {
    for (const connections of attack.connections ?? [1, 50]) {
      if (!await measure(attack, { ...database, connections })) bad++;
    }
  }
}

interface Target extends BenchDatabase {
  readonly connections: number;
}

/** Runs one attack and prints its figures. Returns true if the service stayed within the limits. */
async function measure(attack: Attack, target: Target): Promise<boolean> {
  await using service = await startService(target.url, "attacks", {
    isVerbose: options.verbose,
    ...(attack.descriptors === undefined ? {} : { descriptors: attack.descriptors }),
  });
  const { port } = service;
  const work = attack.othersWork === true ? ["work"] : [];
  const before = await watchOthers([port, String(baselineSeconds), ...work]);
  const watching = watchOthers([port, String(seconds + 1), ...work]);
  await using attacker = startProcess("attacker.ts", [
    ...[port, String(seconds), String(target.connections), attack.name],
  ], { isNice: true, isVerbose: options.verbose });
  const memory = watchMemory(service.process);
  await attacker.nextLine();
  const [during, got] = await Promise.all([watching, figuresOf<Got>(attacker)]);
  return report(attack, target, { before, during, got, ...await memory.stop() });
}

interface MemoryFigures {
  readonly peakMb: number;
  /** True if the service process has ended. */
  readonly hasEnded: boolean;
}

/** The kernel reports the peak. If the service has ended, the last observed peak is used. */
function watchMemory({ pid, isAlive }: Process): { stop(): Promise<MemoryFigures> } {
  let peakMb = 0;
  const look = async () => {
    peakMb = Math.max(peakMb, await residentMb(pid, "peak"));
  };
  const timer = setInterval(look, 100);
  return {
    async stop() {
      clearInterval(timer);
      await look();
      return { peakMb, hasEnded: !isAlive() };
    },
  };
}

interface Found extends MemoryFigures {
  readonly before: OthersFigures;
  readonly during: OthersFigures;
  readonly got: Got;
}

function report(attack: Attack, target: Target, found: Found): boolean {
  const { before, during, got, peakMb, hasEnded } = found;
  const kinds = ["healthz", "row"] as const;
  const isLate = kinds.some((kind) => during[kind].p99 - before[kind].p99 > limits.delayMs);
  const faults = [
    ...(hasEnded ? ["ended"] : []),
    ...(peakMb > limits.residentMb ? ["memory"] : []),
    ...(isLate ? ["delay"] : []),
    ...(kinds.some((kind) => during[kind].failures > 0) ? ["failures"] : []),
    ...((during.work?.failures ?? 0) > 0 ? ["solved challenges refused"] : []),
  ];
  printRow([
    attack.name,
    String(target.connections),
    target.engine,
    showWaits(before.healthz, during.healthz),
    showWaits(before.row, during.row),
    String(Math.round(peakMb)),
    Object.entries(got).map(([what, count]) => `${count} × ${what}`).join(", ") || "nothing",
    faults.length === 0 ? "ok" : `**${faults.join(", ")}**`,
  ]);
  if (options.verbose) console.log({ before, during });
  return faults.length === 0;
}
