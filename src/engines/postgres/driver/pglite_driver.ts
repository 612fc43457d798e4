import { existsSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import { type Described, group } from "../../../options/option.ts";
import { systemClock } from "../../../runtime/system_runtime.ts";
import type { Driver } from "../../../db/driver.ts";
import { restoreSession } from "../connection/session_settings.ts";
import { postgresDriver, type PostgresDriverOptions } from "./postgres_driver.ts";
import { createPgliteSession, type PgliteClient } from "./pglite_session.ts";
import { driverOptionRules, type DriverOptions, errorPrefix } from "../../../db/driver_options.ts";

/** Options for opening PGlite, which is Postgres inside this process. */
export type PgliteOptions = DriverOptions;

const inUtc = "SET TIME ZONE 'UTC'";

const pgliteOptions = group(driverOptionRules satisfies Described<PgliteOptions>).required();

/** Opens a PGlite in the folder `path`, or `:memory:`. Reads wait while a transaction is open. */
export async function openPglite(path: string, given: PgliteOptions = {}): Promise<Driver> {
  const options = pgliteOptions.read(given, errorPrefix);
  const exists = path === ":memory:" || existsSync(`${path}/PG_VERSION`);
  if (options.readOnly === true && !exists) {
    throw new Error(`Cannot open ${path}: there is no such PGlite folder`);
  }
  const library = new PGlite({ dataDir: path === ":memory:" ? "memory://" : path });
  await library.waitReady;
  const readOnly = options.readOnly === true ? ["SET default_transaction_read_only = on"] : [];
  for (const text of readOnly) await library.exec(text);
  return await driverOf(library, options, {
    restores: [...restoreSession, inUtc, ...readOnly],
    label: `${path} (pglite)`,
    // No other process can write, because only one process can open the folder.
    isShared: false,
    close: () => library.close(),
  });
}

/**
 * Opens a driver that shares a PGlite with the program that has opened it. The program's statements
 * wait while a transaction of the service is open. The PGlite's time zone becomes UTC. Closing the
 * driver does not close the PGlite.
 */
export async function openPgliteOfClient(
  client: object,
  given: PgliteOptions = {},
): Promise<Driver> {
  const options = pgliteOptions.read(given, errorPrefix);
  if (options.readOnly === true) {
    throw new Error("Cannot open this client for reading only: the program writes with it");
  }
  // The cast is safe: Drizzle's client is a PGlite, of which the driver uses only declared members.
  const library = client as PgliteClient;
  await library.waitReady;
  const label = "the program's client (pglite)";
  // The session belongs to the program, so the driver does not reset the settings.
  return await driverOf(library, options, {
    ...{ label, restores: [] },
    isShared: true,
    close: () => Promise.resolve(),
  });
}

async function driverOf(
  library: PgliteClient,
  { waitLimitMs, raisedMessages, clock = systemClock }: ReturnType<typeof pgliteOptions.read>,
  { restores, ...parts }: Pick<PostgresDriverOptions, "label" | "isShared" | "close"> & {
    readonly restores: readonly string[];
  },
): Promise<Driver> {
  await library.query(inUtc, [], {});
  return postgresDriver({
    ...{ ...parts, waitLimitMs, raisedMessages, clock, signals: null },
    ...{ sessions: [createPgliteSession(library, restores)], maxReads: 1 },
  });
}
