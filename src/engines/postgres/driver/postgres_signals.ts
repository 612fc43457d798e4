import type { SignalChannel, Signals } from "../../../db/driver.ts";
import { changesChannel } from "../sql/change_log_schema.ts";
import {
  PostgresJsConnection,
  type PostgresJsConnectionOptions,
} from "./postgres_js_connection.ts";

/** The time until a lost connection is opened again, in milliseconds. */
const listenAgainMs = 1_000;

/** The time after which a process looks again whether others listen, in milliseconds. */
const lookAgainMs = 10_000;

/** The channels for signals that the tables may have changed. The second is PostgREST's. */
const schemaChannels: readonly string[] = ["service_schema", "pgrst"];

/** Every process that listens for changes holds this advisory lock, shared with the others. */
const listenersLock = 7237120948;

/** Returns the signals that the tables may have changed. Each listener has its own connection. */
export function schemaSignals(options: PostgresJsConnectionOptions): Signals {
  return {
    listen(onSignal) {
      const listener = new Listener(options, {
        opened: async (connection) => {
          for (const channel of schemaChannels) await connection.run(`LISTEN ${channel}`, []);
          onSignal(false);
        },
        notified: () => onSignal(false),
      });
      return { send: () => {}, close: () => listener.close() };
    },
  };
}

/**
 * Returns the signals between processes that the change log has new changes. A process that is the
 * only listener sends none, because each signal costs a transaction.
 */
export function changeSignals(options: PostgresJsConnectionOptions): Signals {
  return { listen: (onSignal) => new ChangeSignals(options, onSignal) };
}

class ChangeSignals implements SignalChannel {
  readonly #options: PostgresJsConnectionOptions;
  readonly #onSignal: (isAlone: boolean) => void;
  readonly #listener: Listener;
  /** The id of the server process that sends this process's signals. Empty if unknown. */
  #ownBackend = "";
  #hasOthers = false;
  #lookedAtMs = 0;
  /** Counts the greetings of other processes, which a look of the same time may not have seen. */
  #greetings = 0;
  #isClosed = false;

  constructor(options: PostgresJsConnectionOptions, onSignal: (isAlone: boolean) => void) {
    this.#options = options;
    this.#onSignal = onSignal;
    options.listeners.count++;
    this.#listener = new Listener(options, {
      opened: (connection) => this.#opened(connection),
      notified: (payload) => this.#notified(payload),
      lost: () => this.#ownBackend = "",
    });
  }

  send(): void {
    const { connection } = this.#listener;
    if (!this.#hasOthers || this.#ownBackend === "" || connection === null) return;
    const isDue = this.#options.clock.elapsedMs() - this.#lookedAtMs >= lookAgainMs;
    connection.run(`SELECT pg_notify('${changesChannel}', pg_backend_pid()::text)`, [])
      .then(() => isDue ? this.#look(connection) : undefined)
      .catch(() => connection.drop());
  }

  async close(): Promise<void> {
    if (!this.#isClosed) this.#options.listeners.count--;
    this.#isClosed = true;
    await this.#listener.close();
  }

  async #opened(connection: PostgresJsConnection): Promise<void> {
    const { rows } = await connection.run(
      `SELECT pg_backend_pid(), pg_advisory_lock_shared(${listenersLock})`,
      [],
    );
    this.#ownBackend = rows[0]?.[0] ?? "";
    await connection.run(`LISTEN ${changesChannel}`, []);
    // The lock precedes the greeting, so a process that has not seen the lock gets the greeting.
    const greeting = `'listens ' || pg_backend_pid()`;
    await connection.run(`SELECT pg_notify('${changesChannel}', ${greeting})`, []);
    await this.#look(connection);
    // Without a connection, the listener may have missed signals, so it polls now.
    this.#onSignal(false);
  }

  #notified(payload: string): void {
    const sender = payload.replace(/^listens /, "");
    // The signal of a driver contains the id of its server process, that of a trigger is empty.
    if (sender === this.#ownBackend) return;
    if (sender !== payload) {
      this.#greetings++;
      this.#hasOthers = true;
      // The new listener may have missed commits of this process.
      this.send();
    }
    this.#onSignal(sender === "");
  }

  async #look(connection: PostgresJsConnection): Promise<void> {
    this.#lookedAtMs = this.#options.clock.elapsedMs();
    const greetings = this.#greetings;
    const { rows } = await connection.run(othersListen, []);
    if (greetings === this.#greetings) this.#hasOthers = rows[0]?.[0] === "t";
  }
}

const othersListen = `SELECT EXISTS (
  SELECT FROM pg_locks
  WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
    AND (classid::bigint << 32) + objid::bigint = ${listenersLock}
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;

interface ListenerParts {
  /** Starts to listen on a new connection. If it fails, another connection is opened. */
  opened(connection: PostgresJsConnection): Promise<void>;
  notified(payload: string): void;
  lost?(): void;
}

/** Keeps a connection open that listens. */
class Listener {
  readonly #options: PostgresJsConnectionOptions;
  readonly #parts: ListenerParts;
  readonly #moved = () => {
    if (this.connection?.opening === null) this.connection.drop();
  };
  connection: PostgresJsConnection | null = null;
  #isClosed = false;
  #cancel = () => {};
  #attempt: Promise<void>;

  constructor(options: PostgresJsConnectionOptions, parts: ListenerParts) {
    this.#options = options;
    this.#parts = parts;
    options.choice.onMove.add(this.#moved);
    this.#attempt = this.#open();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#options.choice.onMove.delete(this.#moved);
    this.#cancel();
    await this.#attempt;
    await this.connection?.close();
  }

  async #open(): Promise<void> {
    const connection = this.connection = new PostgresJsConnection({
      ...this.#options,
      notified: (payload) => this.#parts.notified(payload),
      lost: () => this.#lost(),
    });
    try {
      await connection.opening;
      await this.#parts.opened(connection);
    } catch {
      // The error is ignored: the listener also polls, and a lost connection is opened again.
      connection.drop();
    }
  }

  #lost(): void {
    this.#parts.lost?.();
    if (this.#isClosed) return;
    this.#cancel = this.#options.clock.after(listenAgainMs, () => this.#attempt = this.#open());
  }
}
