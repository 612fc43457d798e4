import { existsSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import { type Described, group } from "../../../options/option.ts";
import { systemClock } from "../../../runtime/system_runtime.ts";
import type { Driver } from "../../../db/driver.ts";
import type {
  KeepRow,
  PostgresConnection,
  PostgresResult,
  PostgresSession,
} from "./postgres_connection.ts";
import { postgresDriver } from "./postgres_driver.ts";
import { createSharedPgliteSession, type PgliteClient } from "./shared_pglite.ts";
import { driverOptionRules, type DriverOptions, errorPrefix } from "../../../db/driver_options.ts";

/** Options for opening PGlite, which is Postgres inside this process. */
export type PgliteOptions = DriverOptions;

const pgliteOptions = group(driverOptionRules satisfies Described<PgliteOptions>).required();

/**
 * Opens the driver of a PGlite in the folder `path`, or in memory for `:memory:`. The driver has a
 * single connection, so reads wait while a transaction is open.
 */
export async function openPglite(path: string, given: PgliteOptions = {}): Promise<Driver> {
  const options = pgliteOptions.read(given, errorPrefix);
  const exists = path === ":memory:" || existsSync(`${path}/PG_VERSION`);
  if (options.readOnly === true && !exists) {
    throw new Error(`Cannot open ${path}: there is no such PGlite folder`);
  }
  const library = new PGlite({ dataDir: path === ":memory:" ? "memory://" : path });
  await library.waitReady;
  passAsText(library);
  await library.exec("SET TIME ZONE 'UTC'");
  if (options.readOnly === true) await library.exec("SET default_transaction_read_only = on");
  return postgresDriver({
    label: `${path} (pglite)`,
    sessions: [sessionOf(library)],
    maxReads: 1,
    waitLimitMs: options.waitLimitMs,
    raisedMessages: options.raisedMessages,
    clock: options.clock ?? systemClock,
    // No other process can write, because only one process can open the folder.
    isShared: false,
    signals: null,
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
  await library.query("SET TIME ZONE 'UTC'", [], {});
  return postgresDriver({
    label: "the program's client (pglite)",
    sessions: [createSharedPgliteSession(library)],
    maxReads: 1,
    waitLimitMs: options.waitLimitMs,
    raisedMessages: options.raisedMessages,
    clock: options.clock ?? systemClock,
    isShared: true,
    signals: null,
    close: () => Promise.resolve(),
  });
}

/** Turns off PGlite's conversions of values, which lose digits and change invalid values. */
function passAsText(library: PGlite): void {
  for (const type of Object.keys(library.parsers)) library.parsers[type] = (text) => text;
  for (const type of Object.keys(library.serializers)) library.serializers[type] = String;
}

/** Creates the session of a PGlite. It runs in this process, so its connection is never lost. */
function sessionOf(library: PGlite): PostgresSession {
  const connection: PostgresConnection = {
    opening: null,
    lost: false,
    async run(text, values): Promise<PostgresResult> {
      const { rows, command = "", rowCount, fields } = await library.query<(string | null)[]>(
        text,
        [...values],
        { rowMode: "array" },
      );
      return {
        rows,
        command,
        count: rowCount ?? 0,
        get columns() {
          return fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID }));
        },
      };
    },
    // PGlite returns all rows together, blocks the process, and cannot abort a statement.
    read(text, values, keep) {
      const result = connection.run(text, values);
      return { result: result.then((all) => keptOf(all, keep)), cancel: () => Promise.resolve() };
    },
    drop: () => {},
  };
  return { connection: () => connection, close: () => Promise.resolve() };
}

function keptOf(result: PostgresResult, keep: KeepRow): PostgresResult {
  return result.rows.every(keep) ? result : { ...result, rows: [] };
}
