import { assertEquals } from "@std/assert";
import { runTargets } from "./fuzz.ts";
import { targets } from "./targets/targets.ts";

/** Few executions: all targets together have five seconds of processor time. */
const executions = 400;

Deno.test("no parser fails for the inputs of its corpus and some random ones, and all are linear", async () => {
  const names = Object.keys(targets);
  const faults: string[] = [];
  const done: string[] = [];
  await runTargets({ names, seed: 1, milliseconds: null, executions }, (report) => {
    done.push(report.name);
    for (const { input, reason } of report.faults) {
      faults.push(`${report.name} ${JSON.stringify(input).slice(0, 300)}: ${reason.slice(0, 600)}`);
    }
  });
  assertEquals(faults, []);
  assertEquals(done, names);
});
