import postgres from "postgres";
import type { Clock } from "../../../runtime/runtime.ts";
import { sleep } from "../../../runtime/event_loop.ts";
import { signalsAfterCommitSetting } from "../sql/change_log_schema.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import { cancelQuery } from "./cancel_read.ts";
import { isStalePlan } from "./postgres_errors.ts";
import { createPacedSocketFactory } from "./paced_socket.ts";
import type { PostgresConnection, PostgresResult, ScheduledRead } from "./postgres_connection.ts";
import { textValues } from "./text_values.ts";
import { type BoundStatement, neverRepeat, PreparedStatements } from "./prepared_statements.ts";
import type { RoleWatch } from "./role_watch.ts";
import type { PostgresOptions } from "./postgres_options.ts";

/**
 * Returns true for a pooler that assigns connections by transaction, so that LISTEN is impossible.
 */
export function isPoolerUrl(url: string): boolean {
  return /[?&]prepare=false(&|$)/.test(url);
}

/** The Postgres server to which another client connects, as options of postgres.js. */
export interface PostgresServerOptions {
  readonly host?: unknown;
  readonly port?: unknown;
  /** The path of a Unix socket. */
  readonly path?: unknown;
  readonly database?: unknown;
  readonly username?: unknown;
  /** The password, or a function that returns it. */
  readonly password?: unknown;
  readonly ssl?: unknown;
}

export interface PostgresJsConnectionOptions {
  readonly url: string;
  /** Overrides the server in the URL. Null if the URL determines the server. */
  readonly server: PostgresServerOptions | null;
  readonly options: Pick<PostgresOptions, "readOnly"> & {
    readonly statementTimeoutMs: number;
    readonly maxParallelWorkers: number;
  };
  readonly clock: Clock;
  readonly waitLimitMs: number;
  /** The number of listeners for signals. If there is any, this process signals after commits. */
  readonly listeners: { count: number };
  /** A counter for all connections, which grows when a table is found to have been altered. */
  readonly alterations: { count: number };
  /** Called with the payload of a signal. */
  readonly notified?: (payload: string) => void;
  /** Called once when the connection is lost. */
  readonly lost?: () => void;
}

/** How much longer than the library's own limit connecting can take, in milliseconds. */
const graceMs = 1_000;

/**
 * One postgres.js connection: a client with a pool of one connection, which is discarded if the
 * connection is lost. Otherwise the library would connect again and send the waiting statements,
 * and a statement of a transaction would be committed on its own. Also, the library never resolves
 * a statement that was sent between a socket's error and the socket's end.
 */
export class PostgresJsConnection implements PostgresConnection {
  opening: Promise<void> | null;
  readonly #alterations: number;
  readonly #options: PostgresJsConnectionOptions;
  readonly #client: postgres.Sql;
  readonly #pooled: boolean;
  readonly #prepared = new PreparedStatements();
  #announces: boolean;
  /** Functions that reject the statements which were sent but have no response yet. */
  readonly #sent = new Set<(error: Error) => void>();
  #lost = false;
  #ending: Promise<void> | null = null;

  constructor(options: PostgresJsConnectionOptions) {
    this.#options = options;
    this.#alterations = options.alterations.count;
    this.#pooled = isPoolerUrl(options.url);
    this.#announces = options.listeners.count > 0;
    this.#client = this.#connect();
    this.opening = this.#begin("SELECT 1");
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** True if a table was altered after this connection was opened, or if it can prepare no more. */
  get stale(): boolean {
    return this.#prepared.isFull || this.#alterations !== this.#options.alterations.count;
  }

  run(
    text: string,
    values: readonly (string | null)[],
    isPipelined = false,
  ): Promise<PostgresResult> {
    return this.read(text, values, keepAll, isPipelined).result;
  }

  read(
    text: string,
    values: readonly (string | null)[],
    keep: (row: readonly (string | null)[]) => boolean,
    isPipelined = false,
  ): ScheduledRead {
    if (!this.#lost) {
      const prepare = !this.#pooled && this.#prepared.admits(text);
      return this.#send(text, values, { prepare, isPipelined }, keep);
    }
    const result = Promise.reject(new DatabaseError("unavailable", connectionLoss()));
    return { result, cancel: () => Promise.resolve() };
  }

  readAfter(
    first: BoundStatement,
    statement: BoundStatement,
    keep: (row: readonly (string | null)[]) => boolean,
  ): ScheduledRead | null {
    const message = this.#lost ? null : this.#prepared.message([first, statement]);
    return message === null
      ? null
      : this.#send(message, [], { prepare: false, simple: true }, keep);
  }

  drop(): void {
    if (this.#lost) return;
    const connecting = this.opening !== null && this.#sent.size > 0;
    this.#lose(connectionLoss());
    this.#ending = connecting ? this.#stopConnecting() : this.#client.end({ timeout: 0 });
  }

  /** Reads the roles again before the next statement, unless they were just read. */
  checkRoles(roles: RoleWatch): void {
    // With a pooler, no statement is prepared, so no plan can become stale.
    if (this.opening !== null || this.#pooled) return;
    const checked = roles.check(this);
    if (checked !== null) this.opening = this.#within(checked);
  }

  /** Sets whether this process sends signals after its commits, so that triggers do not. */
  announce(announces: boolean): void {
    if (this.#announces === announces || this.opening !== null) return;
    this.#announces = announces;
    this.opening = this.#begin(`SET ${signalsAfterCommitSetting} = ${announces ? "on" : "off"}`);
  }

  /** Closes the connection after the statement that runs, or at the latest after the wait limit. */
  async close(): Promise<void> {
    if (this.opening !== null) this.drop();
    if (this.#lost) await this.#ending;
    else await this.#client.end({ timeout: this.#options.waitLimitMs / 1000 });
  }

  #connect(): postgres.Sql {
    const { url, server, waitLimitMs } = this.#options;
    return postgres(url, {
      max: 1,
      prepare: !this.#pooled,
      connect_timeout: Math.ceil(waitLimitMs / 1000),
      // 0 turns off a timer that could close a connection in the middle of a transaction.
      idle_timeout: 0,
      max_lifetime: null,
      fetch_types: false,
      // Passes the other client's server and credentials to the library unchanged.
      ...(server as postgres.Options<Record<string, postgres.PostgresType>> | null),
      types: { text: textValues },
      connection: this.#settings(),
      onnotice: () => {},
      ...this.#undeclared(),
      onclose: () => this.#lose(connectionLoss()),
    });
  }

  /**
   * Returns the settings of a new session, with which every server returns values in the same form.
   * A pooler gets none that it would reject.
   */
  #settings(): Record<string, string | number> {
    const { options: { readOnly, statementTimeoutMs, maxParallelWorkers }, waitLimitMs } =
      this.#options;
    return {
      application_name: "resource-api",
      TimeZone: "UTC",
      DateStyle: "ISO, MDY",
      ...(readOnly === true ? { default_transaction_read_only: "on" } : {}),
      ...(this.#pooled ? {} : {
        ...{ IntervalStyle: "postgres", standard_conforming_strings: "on" },
        bytea_output: "hex",
        extra_float_digits: 1,
        statement_timeout: statementTimeoutMs,
        // A string, because the library omits falsy settings such as the number 0.
        max_parallel_workers_per_gather: String(maxParallelWorkers),
        jit: "off", // The compiler takes up to seconds for a nested filter.
        lock_timeout: Math.max(1, Math.ceil(waitLimitMs)), // 0 would mean no limit.
        ...(this.#announces ? { [signalsAfterCommitSetting]: "on" } : {}),
      }),
    };
  }

  /** Returns the options that the type declarations of postgres.js lack. */
  #undeclared() {
    const { notified } = this.#options;
    return {
      socket: createPacedSocketFactory(),
      ...(notified === undefined ? {} : {
        onnotify: (_channel: string, payload: string) => notified(payload),
      }),
    };
  }

  /**
   * Runs a first statement, which opens the connection. The library keeps a connection's first
   * statement until it can connect, even after the request that waits has timed out.
   */
  #begin(text: string): Promise<void> {
    return this.#within(this.#send(text, [], { prepare: false }).result);
  }

  /** Waits for the work that precedes the next statement. Drops the connection if it hangs. */
  async #within(work: Promise<unknown>): Promise<void> {
    // If a proxy accepts each connection and closes it immediately, the library retries forever.
    const limitMs = this.#options.waitLimitMs + graceMs;
    const cancel = this.#options.clock.after(limitMs, () => this.drop());
    try {
      await work;
      this.opening = null;
    } catch (error) {
      this.drop();
      throw error;
    } finally {
      cancel();
    }
  }

  #send(
    text: string,
    values: readonly (string | null)[],
    { prepare, isPipelined = false, simple = false }: {
      readonly prepare: boolean;
      readonly isPipelined?: boolean;
      /** True if `text` is a message of several statements. The result is that of the last one. */
      readonly simple?: boolean;
    },
    keep: (row: readonly (string | null)[]) => boolean = keepAll,
  ): ScheduledRead {
    // The declarations lack `simple: false`. Without it, the library would send a statement without
    // values by the simple protocol, in which one string can contain several statements.
    const options = { prepare, simple };
    const query = this.#client.unsafe<(string | null)[][]>(text, [...values], options);
    if (isPipelined) neverRepeat(query);
    // Makes each row an array. A separate call, because the type of its result has no `forEach`.
    query.values();
    const rows: (readonly (string | null)[])[] = [];
    const sent = query.forEach((row) => {
      if (keep(row)) rows.push(row);
      else rows.length = 0;
    });
    const result = new Promise<PostgresResult>((resolve, reject) => {
      this.#sent.add(reject);
      sent.then(
        (all) => {
          this.#sent.delete(reject);
          if (prepare) this.#prepared.confirm(text, query);
          // The cast is safe: for several statements, the result is an array of results.
          const [last = all] = simple ? (all as unknown as typeof all[]).slice(-1) : [];
          const { command, count, columns } = last;
          resolve({ rows, command, count, columns });
        },
        (error) => {
          this.#sent.delete(reject);
          reject(error);
          if (!isFromServer(error)) this.drop();
          else if (isStalePlan(error) && !this.stale) this.#options.alterations.count++;
        },
      );
    });
    return { result, cancel: () => this.#cancel(query, result) };
  }

  /**
   * Cancels a query. Drops the connection if the cancel request could affect a later query: a
   * pooler can pass it on after it has assigned the server's connection to another client, and with
   * TLS, the library hides when the server has received it.
   */
  async #cancel(query: object, result: Promise<unknown>): Promise<void> {
    const outcome = result.then(() => null, (error) => error);
    const isTold = !this.#pooled && !this.#client.options.ssl;
    if (!await cancelQuery(query, outcome, this.#options.clock) || !isTold) this.drop();
  }

  #lose(loss: Error): void {
    const isFirst = !this.#lost;
    this.#lost = true;
    for (const reject of this.#sent) reject(loss);
    this.#sent.clear();
    if (isFirst) this.#options.lost?.();
  }

  async #stopConnecting(): Promise<void> {
    await this.#client.end({ timeout: 0 });
    // The library may still open a scheduled connection, which must be closed, too.
    await sleep(10);
    // The declarations lack `close()`. Unlike a second `end()`, it also closes such a connection.
    // Its promise may never resolve if `end()` has rejected a statement.
    void (this.#client as postgres.Sql & { close(): Promise<void> }).close();
  }
}

function keepAll(): boolean {
  return true;
}

/** Returns true if the server has sent the error, so that the connection can still be used. */
function isFromServer(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  // Older servers and some poolers send the severity only in the server's language.
  return (error.severity ?? error.severity_local) === "ERROR";
}

function connectionLoss(): Error {
  return Object.assign(new Error("The connection was lost"), { code: "CONNECTION_CLOSED" });
}
