import { assertEquals } from "@std/assert";
import { missingPostgres } from "../support/mortal_postgres.ts";
import { testUnless } from "../support/skip.ts";
import { runNemesis } from "./nemesis.ts";

const linux = Deno.build.os === "linux" ? null : "workers share a port on Linux only";

testUnless(
  linux ?? missingPostgres,
  "postgres: nothing is lost, repeated or shown wrongly by ended backends, a crash, a stalled network and a killed worker",
  async () => {
    const faults = [
      ...["random backends ended", "immediate restart"],
      ...["network stalls, then connections are cut", "kill -9 of a worker"],
    ];
    await requireSound("postgres", faults);
  },
);

testUnless(
  linux,
  "sqlite: nothing is lost, repeated or shown wrongly by a held lock and a killed worker",
  async () => {
    const faults = ["another process holds the write lock", "kill -9 of a worker"];
    await requireSound("sqlite", faults);
  },
);

async function requireSound(
  engine: "sqlite" | "postgres",
  faults: readonly string[],
): Promise<void> {
  const outcome = await runNemesis({ engine, seed: 1, seconds: 0, faults });
  assertEquals(outcome.wrong, []);
  assertEquals([...outcome.faults.values()].filter(({ count }) => count !== 1), []);
  // Writes succeeded, and streams received them.
  assertEquals([outcome.outcomes.ok > 0, outcome.events > 0], [true, true]);
}
