import postgres from "postgres";
import type { Clock } from "../../../runtime/runtime.ts";
import { sleep } from "../../../runtime/event_loop.ts";
import { announcesSetting } from "../sql/change_log_schema.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import { cancelQuery } from "./cancel_read.ts";
import { isStalePlan } from "./postgres_errors.ts";
import { pacedSockets } from "./paced_socket.ts";
import type { PostgresConnection, PostgresResult, RunningRead } from "./postgres_connection.ts";
import type { PostgresOptions } from "./postgres_options.ts";

/**
 * Returns true if the URL of a postgres.js connection leads to a pooler, which assigns connections by the
 * transaction, so that LISTEN is not possible.
 */
export function isPooled(url: string): boolean {
  return /[?&]prepare=false(&|$)/.test(url);
}

/** The server that another client connects to, by the options of postgres.js. */
export interface PostgresServer {
  readonly host?: unknown;
  readonly port?: unknown;
  /** That of a socket. */
  readonly path?: unknown;
  readonly database?: unknown;
  readonly username?: unknown;
  /** Also a function that gives it. */
  readonly password?: unknown;
  readonly ssl?: unknown;
}

/** The input for opening one connection by postgres.js. */
export interface PostgresJsConnectionOptions {
  readonly url: string;
  /** Where the connection leads, in place of the URL; null for where that leads. */
  readonly server: PostgresServer | null;
  readonly options: Pick<PostgresOptions, "readOnly"> & {
    readonly statementTimeoutMs: number;
    readonly maxParallelWorkers: number;
  };
  readonly clock: Clock;
  readonly waitLimitMs: number;
  /** How many listeners there are: with one, the process signals after its commits. */
  readonly listeners: { count: number };
  /** How often a table was altered under statements that are prepared. */
  readonly alterations: { count: number };
  /** Called for a signal, with its payload. */
  readonly notified?: (payload: string) => void;
  /** Called once, when the connection is lost. */
  readonly lost?: () => void;
}

/** The most statements that a connection keeps prepared: the library never closes one. */
const maxPrepared = 500;

/** The most characters of all of them: a client chooses how long the text of a filter is. */
const maxPreparedLength = 500_000;

/** How much longer than the library's own limit an attempt to connect may take. */
const graceMs = 1_000;

/**
 * One connection by postgres.js: a client with a pool of one, which is given up with its first
 * connection. By itself the library would connect again, and send there what was still queued: a
 * statement of a transaction would then be committed by itself. It never resolves what was sent
 * between the error of a socket and its end.
 */
export class PostgresJsConnection implements PostgresConnection {
  opening: Promise<void> | null;
  /** The count of alterations when it was opened. */
  readonly #alterations: number;
  readonly #options: PostgresJsConnectionOptions;
  readonly #client: postgres.Sql;
  readonly #pooled: boolean;
  readonly #prepared = new Set<string>();
  #preparedLength = 0;
  #announces: boolean;
  /** Rejects the statements that were sent and not answered. */
  readonly #sent = new Set<(error: Error) => void>();
  #lost = false;
  #ending: Promise<void> | null = null;

  constructor(options: PostgresJsConnectionOptions) {
    this.#options = options;
    this.#alterations = options.alterations.count;
    this.#pooled = isPooled(options.url);
    this.#announces = options.listeners.count > 0;
    this.#client = this.#connect();
    this.opening = this.#begin("SELECT 1");
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** True if a table was altered since it was opened, so that its prepared statements may be stale. */
  get stale(): boolean {
    return this.#alterations !== this.#options.alterations.count;
  }

  run(text: string, values: readonly (string | null)[]): Promise<PostgresResult> {
    if (this.#lost) return Promise.reject(new DatabaseError("unavailable", connectionLoss()));
    return this.#send(text, values, this.#prepares(text)).result;
  }

  read(
    text: string,
    values: readonly (string | null)[],
    keep: (row: readonly (string | null)[]) => boolean,
  ): RunningRead {
    if (!this.#lost) return this.#send(text, values, this.#prepares(text), keep);
    const result = Promise.reject(new DatabaseError("unavailable", connectionLoss()));
    return { result, cancel: () => Promise.resolve() };
  }

  drop(): void {
    if (this.#lost) return;
    const connecting = this.opening !== null && this.#sent.size > 0;
    this.#lose(connectionLoss());
    this.#ending = connecting ? this.#stopConnecting() : this.#client.end({ timeout: 0 });
  }

  /** Sets whether this process signals after its commits, so that no trigger has to. */
  announce(announces: boolean): void {
    if (this.#announces === announces || this.opening !== null) return;
    this.#announces = announces;
    this.opening = this.#begin(`SET ${announcesSetting} = ${announces ? "on" : "off"}`);
  }

  /** Waits for a running statement, for the wait limit at most. */
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
      // A timer of the library could close a connection in the middle of a transaction.
      idle_timeout: 0,
      max_lifetime: null,
      fetch_types: false,
      // As they are given: the server, and how the client signs in there.
      ...(server as postgres.Options<Record<string, postgres.PostgresType>> | null),
      types: { text: asText },
      connection: this.#settings(),
      onnotice: () => {},
      ...this.#undeclared(),
      onclose: () => this.#lose(connectionLoss()),
    });
  }

  /**
   * The settings that a session begins with. Poolers refuse settings that they do not know. Those
   * sent here make strings the same on every server.
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
        IntervalStyle: "postgres",
        bytea_output: "hex",
        extra_float_digits: 1,
        statement_timeout: statementTimeoutMs,
        // A string: the library leaves out what is false, as the number 0 is.
        max_parallel_workers_per_gather: String(maxParallelWorkers),
        // A wait for a lock keeps a connection from all other requests. 0 would be no limit.
        lock_timeout: Math.max(1, Math.ceil(waitLimitMs)),
        ...(this.#announces ? { [announcesSetting]: "on" } : {}),
      }),
    };
  }

  /** Options that the declarations of the library lack. */
  #undeclared() {
    const { notified } = this.#options;
    return {
      socket: pacedSockets(),
      ...(notified === undefined ? {} : {
        onnotify: (_channel: string, payload: string) => notified(payload),
      }),
    };
  }

  /**
   * A separate statement opens the connection: the library keeps the first one until some attempt
   * to connect succeeds, however late, and a request would have given up by then.
   */
  async #begin(text: string): Promise<void> {
    // With a proxy that accepts every connection and closes it at once, the library tries for ever.
    const limitMs = this.#options.waitLimitMs + graceMs;
    const cancel = this.#options.clock.after(limitMs, () => this.drop());
    try {
      await this.#send(text, [], false).result;
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
    prepare: boolean,
    keep: (row: readonly (string | null)[]) => boolean = keepAll,
  ): RunningRead {
    // Without `simple: false`, which the declarations lack, a statement without values would be
    // sent by the simple protocol, which runs several statements in one string.
    const options = { prepare, simple: false };
    const query = this.#client.unsafe<(string | null)[][]>(text, [...values], options);
    // Rows are arrays from here on, which the declarations do not combine with `forEach`.
    query.values();
    const rows: (readonly (string | null)[])[] = [];
    const sent = query.forEach((row) => {
      if (keep(row)) rows.push(row);
      else rows.length = 0;
    });
    const result = new Promise<PostgresResult>((resolve, reject) => {
      this.#sent.add(reject);
      sent.then(
        ({ command, count, columns }) => {
          this.#sent.delete(reject);
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
   * A pooler may pass a cancel request on when it has given the connection to the server to another
   * client; by TLS the library hides when the server has taken the request.
   */
  async #cancel(query: object, result: Promise<unknown>): Promise<void> {
    const outcome = result.then(() => null, (error) => error);
    const isTold = !this.#pooled && !this.#client.options.ssl;
    if (!await cancelQuery(query, outcome, this.#options.clock) || !isTold) this.drop();
  }

  #prepares(text: string): boolean {
    if (this.#pooled) return false;
    if (this.#prepared.has(text)) return true;
    const length = this.#preparedLength + text.length;
    if (this.#prepared.size >= maxPrepared || length > maxPreparedLength) return false;
    this.#preparedLength = length;
    this.#prepared.add(text);
    return true;
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
    // An attempt to connect that was due already is made nevertheless, and has to be closed, too.
    await sleep(10);
    // The declarations lack it. Unlike a second end(), it closes the connection again; the promise
    // may stay pending for ever when the first end has rejected a statement.
    void (this.#client as postgres.Sql & { close(): Promise<void> }).close();
  }
}

function keepAll(): boolean {
  return true;
}

/** Returns true if the error is the server's answer to a statement: the connection is still good. */
function isFromServer(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  // Older servers and some poolers send the severity in their own language only.
  return (error.severity ?? error.severity_local) === "ERROR";
}

/** The library has an error with the same code for a connection that ended. */
function connectionLoss(): Error {
  return Object.assign(new Error("The connection was lost"), { code: "CONNECTION_CLOSED" });
}

/** Every value is sent as text: the library's conversions lose digits, and change bad values. */
const asText: postgres.PostgresType<string> = {
  to: 25,
  // The types that the library would convert: text, numbers, json, bool, times, bytea.
  from: [25, 21, 23, 26, 700, 701, 114, 3802, 16, 1082, 1114, 1184, 17],
  serialize: (value: string) => value,
  parse: (text: string) => text,
};
