import postgres from "postgres";
import type { Observer } from "../../runtime/observation.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { sleep } from "../../runtime/event_loop.ts";
import { announcesSetting } from "../../sql/postgres/change_log_schema.ts";
import { DatabaseError } from "../database_error.ts";
import type { PostgresConnection, PostgresResult } from "./postgres_driver.ts";
import { sessionSettings } from "./session_settings.ts";

/** How a Postgres is reached. */
export interface PostgresOptions {
  /** Every transaction is read-only. */
  readonly readOnly?: boolean | undefined;
  /** The most connections; 10 by default. */
  readonly maxConnections?: number | undefined;
  /** How long a request waits for a connection or a lock, and for connecting. 5,000 by default. */
  readonly waitLimitMs?: number | undefined;
  /** The server ends a statement that runs longer; 15,000 by default. */
  readonly statementTimeoutMs?: number | undefined;
  /** The time of the machine by default. */
  readonly clock?: Clock | undefined;
  /** Takes the notice that the server cannot be reached now. */
  readonly observe?: Observer | undefined;
}

/** A pooler lends a connection by the transaction, so that nothing can be listened for. */
export function isPooled(url: string): boolean {
  return /[?&]prepare=false(&|$)/.test(url);
}

/** What a connection is opened with. */
export interface PostgresJsConnectionOptions {
  readonly url: string;
  readonly options: PostgresOptions;
  readonly clock: Clock;
  readonly waitLimitMs: number;
  /** How many listen, and signal behind commits. */
  readonly listeners: { count: number };
  /** Called when a signal comes in, with what its sender gave it. */
  readonly notified?: (payload: string) => void;
  /** Called once, when a connection is gone. */
  readonly lost?: () => void;
}

/** The most statements that a connection keeps prepared: the library never forgets one. */
const maxPrepared = 500;

/** How much longer than the library's own limit an attempt to connect may take. */
const graceMs = 1_000;

/**
 * One connection: a client of the library with a pool of one, which is given up with its first
 * connection. By itself the library would connect again, and send there what was still queued: a
 * statement of a transaction would then be committed on its own. What was sent between the error
 * of a socket and its end it never settles.
 */
export class PostgresJsConnection implements PostgresConnection {
  opening: Promise<void> | null;
  readonly #options: PostgresJsConnectionOptions;
  readonly #client: postgres.Sql;
  readonly #pooled: boolean;
  readonly #prepared = new Set<string>();
  #announces: boolean;
  /** What refuses the statements that were sent and not answered. */
  readonly #sent = new Set<(error: Error) => void>();
  #lost = false;
  #ending: Promise<void> | null = null;

  constructor(options: PostgresJsConnectionOptions) {
    this.#options = options;
    this.#pooled = isPooled(options.url);
    this.#announces = options.listeners.count > 0;
    this.#client = this.#connect();
    this.opening = this.#begin("SELECT 1");
  }

  get lost(): boolean {
    return this.#lost;
  }

  run(text: string, values: readonly (string | null)[]): Promise<PostgresResult> {
    if (this.#lost) return Promise.reject(new DatabaseError("unavailable", connectionLoss()));
    return this.#send(text, values, !this.#pooled && this.#prepares(text));
  }

  drop(): void {
    if (this.#lost) return;
    const connecting = this.opening !== null && this.#sent.size > 0;
    this.#lose(connectionLoss());
    this.#ending = connecting ? this.#stopConnecting() : this.#client.end({ timeout: 0 });
  }

  /** Says whether this process signals behind its commits, so that no trigger has to. */
  announce(announces: boolean): void {
    if (this.#announces === announces || this.opening !== null) return;
    this.#announces = announces;
    this.opening = this.#begin(`SET ${announcesSetting} = ${announces ? "on" : "off"}`);
  }

  /** Lets a running statement end, for as long as anybody waits for the database. */
  async close(): Promise<void> {
    if (this.opening !== null) this.drop();
    if (this.#lost) await this.#ending;
    else await this.#client.end({ timeout: this.#options.waitLimitMs / 1000 });
  }

  #connect(): postgres.Sql {
    const { url, options, waitLimitMs } = this.#options;
    return postgres(url, {
      max: 1,
      prepare: !this.#pooled,
      connect_timeout: Math.ceil(waitLimitMs / 1000),
      // A timer of the library could end a connection in the middle of a transaction.
      idle_timeout: 0,
      max_lifetime: null,
      fetch_types: false,
      types: { text: asText },
      connection: sessionSettings({
        ...options,
        waitLimitMs,
        isPooled: this.#pooled,
        announces: this.#announces,
      }),
      onnotice: () => {},
      ...this.#whenNotified(),
      onclose: () => this.#lose(connectionLoss()),
    });
  }

  /** The declarations of the library lack this option of it. */
  #whenNotified(): { readonly onnotify?: (channel: string, payload: string) => void } {
    const { notified } = this.#options;
    return notified === undefined ? {} : { onnotify: (_channel, payload) => notified(payload) };
  }

  /**
   * A statement of its own opens the connection: the library holds on to the first one until some
   * attempt to connect succeeds, however late, and by then a caller would have given up.
   */
  async #begin(text: string): Promise<void> {
    // A proxy that takes every connection and ends it at once keeps the library trying for ever.
    const limitMs = this.#options.waitLimitMs + graceMs;
    const cancel = this.#options.clock.after(limitMs, () => this.drop());
    try {
      await this.#send(text, [], false);
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
  ): Promise<PostgresResult> {
    // Without `simple: false`, which the declarations lack, a statement without values would go
    // by the protocol that takes several statements at once.
    const how = { prepare, simple: false };
    return new Promise((resolve, reject) => {
      this.#sent.add(reject);
      this.#client.unsafe(text, [...values], how).values().then(
        (answer) => {
          this.#sent.delete(reject);
          resolve({ rows: [...answer], command: answer.command, count: answer.count });
        },
        (error) => {
          this.#sent.delete(reject);
          reject(error);
          if (!isAnswer(error)) this.drop();
        },
      );
    });
  }

  #prepares(text: string): boolean {
    if (this.#prepared.has(text)) return true;
    if (this.#prepared.size >= maxPrepared) return false;
    this.#prepared.add(text);
    return true;
  }

  #lose(loss: Error): void {
    const isNews = !this.#lost;
    this.#lost = true;
    for (const refuse of this.#sent) refuse(loss);
    this.#sent.clear();
    if (isNews) this.#options.lost?.();
  }

  async #stopConnecting(): Promise<void> {
    await this.#client.end({ timeout: 0 });
    // An attempt to connect that was due already is made nevertheless, and has to be ended too.
    await sleep(10);
    // The declarations lack it. Unlike a second end(), it looks at the connection once more; the
    // promise may stay open for ever when the first end has rejected a statement.
    void (this.#client as postgres.Sql & { close(): Promise<void> }).close();
  }
}

/** Whether the server answered, by an error that leaves the connection as it was. */
function isAnswer(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  // Older servers and some poolers tell the severity in the words of their language alone.
  return (error.severity ?? error.severity_local) === "ERROR";
}

/** The error by which the library, too, tells of a connection that ended. */
function connectionLoss(): Error {
  return Object.assign(new Error("The connection was lost"), { code: "CONNECTION_CLOSED" });
}

/** Every value crosses as text: the library's own conversions lose digits, and change bad values. */
const asText: postgres.PostgresType<string> = {
  to: 25,
  // Each type that the library would convert: text, numbers, json, bool, times, bytea.
  from: [25, 21, 23, 26, 700, 701, 114, 3802, 16, 1082, 1114, 1184, 17],
  serialize: (value: string) => value,
  parse: (text: string) => text,
};
