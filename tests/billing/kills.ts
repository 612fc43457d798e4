import { assertEquals } from "@std/assert";
import { openCreditsLedger } from "../../src/billing/open_billing.ts";
import { runChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";
import { doWork } from "./kill_process.ts";
import { sequences } from "./payments.ts";

const script = new URL("kill_process.ts", import.meta.url).pathname;

/**
 * Kills a process at each moment of the work in turn; each time the work is then repeated, as a
 * vendor or a careful caller does. Gives the number of moments.
 */
export async function killAtEveryMoment(name: string): Promise<number> {
  let next = 1;
  let moments = Infinity;
  // Two at a time, of which each starts a process.
  await Promise.all([1, 2].map(async () => {
    while (next < moments) {
      const moment = next++;
      if (await killAt(name, moment)) moments = Math.min(moments, moment);
    }
  }));
  return moments - 1;
}

/** True where the work has fewer moments. */
async function killAt(name: string, moment: number): Promise<boolean> {
  await using folder = await scratchFolder();
  const { path } = folder;
  const { stdout, code } = await runChild([script, path, String(moment), name]);
  const isDone = stdout.includes("done");
  assertEquals(code === 0, isDone, `${name} ended by itself at ${moment}`);
  // After the lease of a claim, or the time of a reservation.
  const aheadMs = name === "the ledger, late" ? 601_000 : 61_000;
  await doWork({ folder: path, name, moment: () => Promise.resolve(), aheadMs });
  const ledger = await openCreditsLedger({ kv: `${path}/a.kv` });
  const [audit] = await ledger.audit("ada");
  await ledger.close();
  const sequence = sequences.find((one) => one.name === name);
  const [balance, entries] = sequence === undefined ? [4, 5] : [sequence.credits, 1];
  assertEquals(audit?.balance, balance, `${name}, killed at ${moment}`);
  // The reservation may have expired, and there is another.
  const more = name === "the ledger, late" && audit?.entries === entries + 2 ? 2 : 0;
  assertEquals(audit?.entries, entries + more, `${name}, killed at ${moment}`);
  assertEquals(audit?.faults, []);
  if (sequence === undefined) return isDone;
  const seen = (await Deno.readTextFile(`${path}/seen`)).split("\n");
  // A renewal has no checkout.
  const others = name.includes("renewal") ? [] : ["checkout.completed"];
  for (const type of ["payment.succeeded", ...others]) {
    assertEquals(seen.some((line) => line.endsWith(type)), true, `${type} after ${moment}`);
  }
  return isDone;
}
