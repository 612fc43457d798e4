import { assert, assertEquals } from "@std/assert";
import { createScratchDatabase } from "../../support/engines.ts";
import { testPostgres, testUnless } from "../../support/skip.ts";
import type { Fault } from "./instance.ts";
import { checkPostgresStreams, type PostgresVerdict } from "./postgres_streams.ts";

const server = testPostgres();
const missing = "missing" in server ? server.missing : null;
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 8);

testUnless(
  missing,
  `postgres: eight writers, two servers and clients that change between them, seed ${seed}`,
  async () => {
    const { failure, events, changes } = await check(seed, 10_000, {});
    assertEquals(failure, null);
    assert(events > 1_000 && changes > 200, `only ${events} events of ${changes} changes`);
    console.log(`${events} events of ${changes} changes`);
  },
);

async function check(seed: number, writingMs: number, fault: Fault): Promise<PostgresVerdict> {
  if ("missing" in server) throw new Error(server.missing);
  const scratch = await createScratchDatabase(server.url);
  try {
    return await checkPostgresStreams({ url: scratch.url, seed, writingMs, fault });
  } finally {
    await scratch.drop();
  }
}
