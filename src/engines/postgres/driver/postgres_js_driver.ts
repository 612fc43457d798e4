import { environmentVariable, systemClock } from "../../../runtime/system_runtime.ts";
import { DatabaseError, reasonOf } from "../../../db/database_error.ts";
import type { Driver } from "../../../db/driver.ts";
import { errorPrefix } from "../../../db/driver_options.ts";
import { type ConnectionPlan, labelOf, readConnectionPlan } from "../connection/connection_plan.ts";
import { ServerChoice } from "../connection/server_choice.ts";
import {
  PostgresJsConnection,
  type PostgresJsConnectionOptions,
} from "./postgres_js_connection.ts";
import type { PostgresSession } from "./postgres_connection.ts";
import { postgresDriver } from "./postgres_driver.ts";
import { toPostgresError } from "./postgres_errors.ts";
import { postgresOptionRules, type PostgresOptions } from "./postgres_options.ts";
import { changeSignals, schemaSignals } from "./postgres_signals.ts";
import { RoleWatch } from "./role_watch.ts";
import type { ConnectionOptions } from "node:tls";
import type { Lookup } from "../connection/keywords.ts";
import { toConnectionUrl } from "../connection/parse_connection_string.ts";

export type { PostgresOptions };

/**
 * Opens the driver of a Postgres server with postgres.js. If the server cannot be reached, the
 * driver reports a notice, and every query tries to connect again. `?prepare=false` in the URL is
 * for poolers that assign connections by transaction. With it, the driver prepares no statement and
 * sends no setting that poolers reject. Set the time limits of statements and locks on the role.
 *
 * @throws {DatabaseError} If the server rejects the connection, e.g. because of a wrong password.
 */
export async function openPostgres(url: string, given: PostgresOptions = {}): Promise<Driver> {
  return await openPlan(await readConnectionPlan(url, environmentVariable), given);
}

/**
 * Opens a driver for the server of a client of postgres.js or node-postgres (a `Pool` or a
 * `Client`). The driver logs in as the same user as the client. The driver has a separate pool,
 * whose sessions have the service's settings. Closing the driver does not close the client.
 */
export async function openPostgresOfClient(
  client: object,
  given: PostgresOptions = {},
): Promise<Driver> {
  return await openPlan(await planOfClient(client, environmentVariable), given);
}

export async function openPlan(plan: ConnectionPlan, given: PostgresOptions): Promise<Driver> {
  const options = postgresOptionRules.read(given, errorPrefix);
  const { clock = systemClock, waitLimitMs, maxConnections, readOnly } = options;
  const shared = { options, clock, listeners: { count: 0 }, alterations: { count: 0 } };
  const connectionsOf = (one: ConnectionPlan): PostgresJsConnectionOptions => ({
    ...{ ...shared, plan: one, choice: new ServerChoice(one, readOnly) },
  });
  const direct = connectionsOf(plan);
  const connectionOptions = plan.pooler === null ? direct : connectionsOf(plan.pooler);
  const { isPooled } = connectionOptions.plan;
  const renewConnections = () => void shared.alterations.count++;
  for (const { choice } of [direct, connectionOptions]) choice.onMove.add(renewConnections);
  const roles = new RoleWatch(clock, () => direct.choice.move());
  const notice = (message: string) => options.observe?.({ kind: "notice", message });
  const replicas = await Promise.all(
    plan.replicas.map((url) => readConnectionPlan(url, environmentVariable)),
  );
  // A replica is one server: a log position of one server does not apply to another server.
  if (replicas.some(({ servers }) => servers.length > 1)) {
    throw new Error("Cannot open the database: a replica has several hosts: name each in replicas");
  }
  const openings = await Promise.allSettled(
    replicas.map((replica) => openPlan(replica, { ...given, readOnly: true })),
  );
  const drivers = openings.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
  const failed = openings.find((one) => one.status === "rejected");
  if (failed !== undefined) {
    await Promise.all(drivers.map((opened) => opened.close()));
    throw failed.reason;
  }
  const driver = postgresDriver({
    label: labelOf(plan),
    sessions: Array.from({ length: maxConnections }, () => session(connectionOptions, roles)),
    maxReads: options.maxReadConnections ?? Math.max(1, Math.floor(maxConnections / 2)),
    waitLimitMs,
    raisedMessages: options.raisedMessages,
    clock,
    isShared: true,
    isPooled,
    signals: plan.isPooled || readOnly ? null : changeSignals(direct),
    ...(plan.isPooled ? {} : { schemaSignals: schemaSignals(direct) }),
    // Through a pooler, a statement with values needs two round trips, so it cannot be pipelined.
    pipelines: !isPooled,
    renewConnections,
    close: () => Promise.resolve(),
    ...(drivers.length === 0 ? {} : { replicas: { drivers, notice } }),
  });
  if (plan.isPooled && !readOnly) {
    notice(
      `${driver.label} is a pooler, so live streams find the changes of other processes by ` +
        "polling: open { primary: URL, pooler: URL }, or use --pooler URL",
    );
  }
  try {
    await driver.query({ text: "SELECT 1", values: [] });
    // Tests the separate connection of the listener, which would not report a wrong password.
    if (direct !== connectionOptions) await checkConnection(direct);
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind !== "unavailable") {
      await driver.close();
      throw error;
    }
    notice(`${driver.label} cannot be reached now: ${reasonOf(error)}`);
  }
  return driver;
}

async function checkConnection(options: PostgresJsConnectionOptions): Promise<void> {
  const connection = new PostgresJsConnection(options);
  const reject = (error: unknown) => Promise.reject(toPostgresError(error, "read"));
  await connection.opening?.catch(reject).finally(() => connection.close());
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
      if (connection?.stale === true) connection.drop();
      if (connection?.lost === true) discard(connection);
      if (connection === null || connection.lost) {
        connection = new PostgresJsConnection(connectionOptions);
      } else {
        connection.restore(roles);
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

type Options = Readonly<Record<string, unknown>>;

async function planOfClient(client: object, environment: Lookup): Promise<ConnectionPlan> {
  // A postgres.js client or a node-postgres pool has `options`. A single node-postgres client has
  // `connectionParameters`. The code below checks every member before its use.
  const { options, connectionParameters } = client as Readonly<Record<string, Options | undefined>>;
  if (typeof options?.connectionString === "string") {
    return await readConnectionPlan(options.connectionString, environment);
  }
  const given = connectionParameters ?? options;
  if (given === undefined) {
    throw new Error("Cannot find the server of this client: it is none of postgres.js or of pg");
  }
  const { host, port, path, database, user, ssl, prepare, pass, password = pass } = given;
  const ownTls = typeof ssl === "object" ? ssl : null;
  const mode = ownTls === null ? "disable" : "require";
  const parameters = new Map<string, string>();
  const found = {
    ...{ host: typeof path === "string" ? path.replace(/\/[^/]*$/, "") : host, port },
    ...{ dbname: database, user },
    // If a client has `prepare: false`, its server is assumed to be a pooler.
    prepare: prepare === false ? "false" : "true",
    sslmode: ssl === true ? "verify-full" : typeof ssl === "string" ? ssl : mode,
    sslrootcert: ssl === true || ssl === "verify-full" ? "system" : null,
    // Only the client's options, not environment variables, decide if the server is verified.
    channel_binding: "prefer",
  };
  for (const [name, value] of Object.entries(found)) {
    if (value !== undefined && value !== null) parameters.set(name, String(value));
  }
  const plan = await readConnectionPlan(toConnectionUrl(parameters), environment);
  return {
    ...plan,
    async password(server) {
      const value: unknown = typeof password === "function" ? await password() : password;
      return typeof value === "string" && value !== "" ? value : await plan.password(server);
    },
    tls: ownTls === null ? plan.tls : {
      ...plan.tls,
      // The cast is safe: postgres.js itself passes these options to `node:tls`.
      options: async ({ host }) =>
        await Promise.resolve({ host, servername: host, ...(ownTls as ConnectionOptions) }),
    },
  };
}
