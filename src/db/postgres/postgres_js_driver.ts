import { systemClock } from "../../runtime/system_runtime.ts";
import { DatabaseError, reasonOf } from "../database_error.ts";
import type { Driver } from "../driver.ts";
import {
  isPooled,
  PostgresJsConnection,
  type PostgresJsConnectionOptions,
  type PostgresOptions,
} from "./postgres_js_connection.ts";
import { postgresDriver, type PostgresSession } from "./postgres_driver.ts";
import { notifySignals } from "./notify_signals.ts";

export type { PostgresOptions };

/**
 * Connects to a Postgres server. One that cannot be reached now may be there later: that is a
 * notice, and every query tries again; what the server refuses, such as a password, is thrown.
 * `?prepare=false` in the URL is for poolers that lend a connection by the transaction: then
 * nothing is prepared and no setting is sent that they refuse, so that the time limits of
 * statements and locks have to be set on the role.
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Driver> {
  const clock = options.clock ?? systemClock;
  const waitLimitMs = options.waitLimitMs ?? 5_000;
  const parts: PostgresJsConnectionOptions = {
    url,
    options,
    clock,
    waitLimitMs,
    listeners: { count: 0 },
  };
  const driver = postgresDriver({
    label: url.replace(/\/\/[^/]*@/, "//").replace(/\?.*$/, ""),
    sessions: Array.from({ length: options.maxConnections ?? 10 }, () => session(parts)),
    waitLimitMs,
    clock,
    isShared: true,
    signals: isPooled(url) || options.readOnly === true ? null : notifySignals(parts),
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

function session(parts: PostgresJsConnectionOptions): PostgresSession {
  let connection: PostgresJsConnection | null = null;
  let closed = false;
  const leaving = new Set<Promise<void>>();

  function leave(lost: PostgresJsConnection): void {
    const left = lost.close().finally(() => leaving.delete(left));
    leaving.add(left);
  }

  return {
    connection() {
      if (closed) throw new DatabaseError("unavailable", new Error("The database is closed"));
      if (connection?.lost === true) leave(connection);
      if (connection === null || connection.lost) connection = new PostgresJsConnection(parts);
      else connection.announce(parts.listeners.count > 0);
      return connection;
    },
    async close() {
      closed = true;
      await Promise.all([connection?.close(), ...leaving]);
    },
  };
}
