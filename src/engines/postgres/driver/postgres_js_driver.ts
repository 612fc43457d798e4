import { systemClock } from "../../../runtime/system_runtime.ts";
import { DatabaseError, reasonOf } from "../../../db/database_error.ts";
import type { Driver } from "../../../db/driver.ts";
import { errorPrefix } from "../../../db/driver_options.ts";
import {
  isPoolerUrl,
  PostgresJsConnection,
  type PostgresJsConnectionOptions,
} from "./postgres_js_connection.ts";
import { RoleWatch } from "./role_watch.ts";
import { type PostgresTarget, serverOfClient } from "./server_of_client.ts";
import type { PostgresSession } from "./postgres_connection.ts";
import { postgresDriver } from "./postgres_driver.ts";
import { postgresOptionRules, type PostgresOptions } from "./postgres_options.ts";
import { createPostgresSignals } from "./postgres_signals.ts";

export type { PostgresOptions };

/**
 * Opens the driver of a Postgres server with postgres.js. If the server cannot be reached, it
 * reports a notice, and every query tries to connect again. `?prepare=false` in the URL is for
 * poolers that assign connections by transaction. Then no statement is prepared, and no setting is
 * sent that poolers reject. The time limits of statements and locks must then be set on the role.
 *
 * @throws {DatabaseError} If the server rejects the connection, e.g. because of a wrong password.
 */
export async function openPostgres(url: string, given: PostgresOptions = {}): Promise<Driver> {
  return await open({ url, server: null }, given);
}

/**
 * Opens a driver for the server to which a client of postgres.js or node-postgres (a `Pool` or a
 * `Client`) connects, as the same user. The driver has a separate pool, whose sessions have the
 * service's settings. Closing the driver does not close the client.
 */
export async function openPostgresOfClient(
  client: object,
  given: PostgresOptions = {},
): Promise<Driver> {
  return await open(serverOfClient(client), given);
}

async function open(
  { url, server }: PostgresTarget,
  given: PostgresOptions,
): Promise<Driver> {
  const options = postgresOptionRules.read(given, errorPrefix);
  const { clock = systemClock, waitLimitMs, maxConnections } = options;
  const connectionOptions: PostgresJsConnectionOptions = {
    url,
    server,
    options,
    clock,
    waitLimitMs,
    listeners: { count: 0 },
    alterations: { count: 0 },
  };
  const renewConnections = () => void connectionOptions.alterations.count++;
  const roles = new RoleWatch(clock, renewConnections);
  const driver = postgresDriver({
    label: url.replace(/\/\/[^/]*@/, "//").replace(/\?.*$/, ""),
    sessions: Array.from({ length: maxConnections }, () => session(connectionOptions, roles)),
    maxReads: options.maxReadConnections ?? Math.max(1, Math.floor(maxConnections / 2)),
    waitLimitMs,
    raisedMessages: options.raisedMessages,
    clock,
    isShared: true,
    signals: isPoolerUrl(url) || options.readOnly === true
      ? null
      : createPostgresSignals(connectionOptions),
    // Without prepared statements, a statement with values needs two round trips: describe and run.
    pipelines: !isPoolerUrl(url),
    renewConnections,
    close: () => Promise.resolve(),
  });
  try {
    await driver.query({ text: "SELECT 1", values: [] });
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind !== "unavailable") {
      await driver.close();
      throw error;
    }
    const message = `${driver.label} cannot be reached now: ${reasonOf(error)}`;
    options.observe?.({ kind: "notice", message });
  }
  return driver;
}

function session(
  connectionOptions: PostgresJsConnectionOptions,
  roles: RoleWatch,
): PostgresSession {
  let connection: PostgresJsConnection | null = null;
  let closed = false;
  const closing = new Set<Promise<void>>();

  function discard(lost: PostgresJsConnection): void {
    const discarded = lost.close().finally(() => closing.delete(discarded));
    closing.add(discarded);
  }

  return {
    connection() {
      if (closed) throw new DatabaseError("unavailable", new Error("The database is closed"));
      // A connection is replaced if its prepared statements can be stale, or if it has too many.
      if (connection?.stale === true) connection.drop();
      if (connection?.lost === true) discard(connection);
      if (connection === null || connection.lost) {
        connection = new PostgresJsConnection(connectionOptions);
      } else {
        connection.announce(connectionOptions.listeners.count > 0);
        connection.checkRoles(roles);
      }
      return connection;
    },
    async close() {
      closed = true;
      await Promise.all([connection?.close(), ...closing]);
    },
  };
}
