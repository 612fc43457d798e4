import { assert, assertEquals } from "@std/assert";
import { runChild } from "../serve/child_process.ts";
import { type Engine, engineOfEachDialect } from "../support/engines.ts";
import { testOnEngines } from "../support/http.ts";

testOnEngines(
  "fifty anonymous streams over rows of a megabyte took gigabytes; fifty streams as one, which its client does not read, take no more",
  async (engine) => {
    // The processes wait for most of their time, so both run at the same time.
    const asOne = engineOfEachDialect.includes(engine)
      ? [requireLittle(engine, "multiplexed")]
      : [];
    await Promise.all([requireLittle(engine), ...asOne]);
  },
);

async function requireLittle({ name }: Engine, ...args: readonly string[]): Promise<void> {
  const file = new URL("./unread_streams_process.ts", import.meta.url).pathname;
  const { code, stdout, stderr } = await runChild([file, name, ...args], { maxLifeMs: 120_000 });
  assertEquals(code, 0, stderr.slice(-2_000));
  const megabytes = Number(/^(\d+) MB$/m.exec(stdout)?.[1]);
  // On a busy machine the buffers of the Postgres driver are collected late: up to 615 MB.
  assert(megabytes < (name === "postgres" ? 700 : 600), stdout);
}
