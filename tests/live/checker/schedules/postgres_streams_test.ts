import { assert, assertEquals } from "@std/assert";
import { createScratchDatabase } from "../../../support/engines.ts";
import { testPostgres, testUnless } from "../../../support/skip.ts";
import type { Fault } from "./instance.ts";
import { naiveLog, type NaiveReader } from "./naive_readers.ts";
import { checkPostgresStreams, type PostgresVerdict } from "./postgres_streams.ts";

const server = testPostgres();
const missing = "missing" in server ? server.missing : null;
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 8);

testUnless(
  missing,
  `postgres: eight writers, two servers and clients that change between them, seed ${seed}`,
  async () => {
    let [events, changes] = [0, 0];
    // On a busy machine, one run has fewer events than a check needs.
    for (let run = 0; run < 10 && (events <= 500 || changes <= 100); run++) {
      const verdict = await check(seed + run, 5_000, {});
      assertEquals(verdict.failure, null);
      events += verdict.events;
      changes += verdict.changes;
    }
    assert(events > 500 && changes > 100, `only ${events} events of ${changes} changes`);
    console.log(`${events} events of ${changes} changes`);
  },
);

const maxSeconds = 10;
const readers: readonly NaiveReader[] = [
  "number",
  "horizon, then number",
  "horizon, by transaction",
  "horizon",
];

for (const reader of readers) {
  testUnless(
    missing,
    `postgres: caught within ${maxSeconds} s: a log that is read by ${reader}`,
    async () => {
      const startedAt = performance.now();
      const elapsedMs = () => performance.now() - startedAt;
      let failure: string | null = null;
      for (let run = 0; failure === null && elapsedMs() < maxSeconds * 1_000; run++) {
        const fault: Fault = { log: (log) => naiveLog(log, reader) };
        failure = (await check(seed + run, 1_500, fault)).failure;
      }
      assert(failure !== null, "nothing was found");
      console.log(`after ${Math.round(elapsedMs())} ms: ${failure.slice(0, 200)}`);
    },
  );
}

async function check(seed: number, writingMs: number, fault: Fault): Promise<PostgresVerdict> {
  if ("missing" in server) throw new Error(server.missing);
  const scratch = await createScratchDatabase(server.url);
  try {
    return await checkPostgresStreams({ url: scratch.url, seed, writingMs, fault });
  } finally {
    await scratch.drop();
  }
}
