import type { KeyValue } from "../../src/kv/key_value.ts";
import { openPostgresKeyValue } from "../../src/engines/postgres/kv/open_postgres_key_value.ts";
import type { Clock, Runtime } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { createScratchDatabase } from "./engines.ts";
import { testPostgres } from "./skip.ts";

/** Key-value stores in one Postgres database, which is removed after the tests of the file. */
export interface PostgresStores {
  /** Why there are none here; null where there are. */
  readonly missing: string | null;
  /** The URL of the database. */
  url(): Promise<string>;
  /** A fresh one, in a schema of its own; time stands still for records, and runs for deadlines. */
  open(clock?: Clock): Promise<KeyValue>;
}

/** Creates the database with the first store. */
export function postgresStores(): PostgresStores {
  const server = testPostgres();
  if ("missing" in server) {
    const absent = () => Promise.reject(new Error(server.missing));
    return { missing: server.missing, url: absent, open: absent };
  }
  let database: ReturnType<typeof createScratchDatabase> | null = null;
  let count = 0;
  const url = async () => (await (database ??= createScratchDatabase(server.url))).url;
  Deno.test.afterAll(async () => await (await database)?.drop());
  return {
    missing: null,
    url,
    open: async (clock) => {
      const schema = `store_${count++}`;
      const options = { schema, maxConnections: 4 };
      return await openPostgresKeyValue(await url(), options, runtimeOf(clock));
    },
  };
}

function runtimeOf(clock: Clock | undefined): Runtime {
  const system = systemRuntime((observation) => {
    throw new Error(JSON.stringify(observation));
  });
  return clock === undefined
    ? system
    : { ...system, clock: { ...system.clock, now: () => clock.now() } };
}
