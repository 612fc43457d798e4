import type { NemesisOutcome } from "./nemesis.ts";

/** Prints the outcome of a run: a table of its faults, and the totals below it. */
export function printTable(engine: string, outcome: NemesisOutcome): string {
  const { faults, skipped, outcomes: { ok, fail, unknown }, wrong } = outcome;
  const rows = [...faults].map(([name, { count, recoveredMs, agreedMs, wrong }]) => [
    ...[name, count, seconds(recoveredMs), seconds(agreedMs), wrong],
  ]);
  const lines = [
    ["fault", "times", "serves again", "streams agree", "wrong"],
    ["---", "---", "---", "---", "---"],
    ...rows,
  ].map((cells) => `| ${cells.join(" | ")} |`);
  return [
    `${engine}, ${outcome.rounds} rounds`,
    ...lines,
    ...[...skipped].map(([name, reason]) => `skipped: ${name}: ${reason}`),
    `operations: ${ok} ok, ${fail} failed, ${unknown} unknown; events: ${outcome.events}; ` +
    `slowest response: ${seconds(outcome.slowestMs)}; ` +
    `lost by asynchronous standbys: ${outcome.lostByStandby}; wrong: ${wrong.length}`,
    ...wrong.slice(0, 20),
  ].join("\n");
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
