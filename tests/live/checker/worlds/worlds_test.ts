import { assert, assertEquals } from "@std/assert";
import { testUnless } from "../../../support/skip.ts";
import { missingServer, runWorlds } from "./run_worlds.ts";

// A failure is found again by `SEED=… deno task test tests/live/checker/worlds/worlds_test.ts`.
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 8);

for (const engine of ["sqlite", "postgres"] as const) {
  testUnless(
    engine === "postgres" ? missingServer : null,
    `${engine}: whatever writes, streams show what lists show, from seed ${seed} on`,
    async () => {
      const options = { seed, events: 40_000, maxMs: 8_000, given: { engine } };
      const { failure, events, worlds, comparisons } = await runWorlds(options);
      assertEquals(failure, null);
      // A machine that is slow or busy does less in the time.
      assert(events > 500 && comparisons > 100, `only ${events} events were checked`);
      console.log(`${events} events in ${worlds} worlds`);
    },
  );
}
