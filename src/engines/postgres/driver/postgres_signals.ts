import type { Signals } from "../../../db/driver.ts";
import { changesChannel } from "../sql/change_log_schema.ts";
import {
  PostgresJsConnection,
  type PostgresJsConnectionOptions,
} from "./postgres_js_connection.ts";

const listenAgainMs = 1_000;

/** The time after which a process checks again for other listeners, in milliseconds. */
const checkAgainMs = 10_000;

/** The channels for signals of possible schema changes. The second channel is PostgREST's. */
const schemaChannels: readonly string[] = ["service_schema", "pgrst"];

/** Every process that listens for changes holds this advisory lock in shared mode. */
const listenersLock = 7237120948;

const othersListen = `SELECT EXISTS (SELECT FROM pg_locks
  WHERE locktype = 'advisory' AND (classid::bigint << 32) + objid::bigint = ${listenersLock}
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND pid <> pg_backend_pid())`;

export function schemaSignals(options: PostgresJsConnectionOptions): Pick<Signals, "listen"> {
  return {
    listen(onSignal) {
      const listener = keepListening(options, {
        channels: schemaChannels,
        opened: () => Promise.resolve(onSignal(false)),
        notified: () => onSignal(false),
      });
      return { send: () => {}, close: listener.close };
    },
  };
}

/** Returns the log's signals. None is sent without a listener, because each costs a transaction. */
export function changeSignals(options: PostgresJsConnectionOptions): Signals {
  return {
    listen(onSignal) {
      /** The id of the server process that sends this process's signals. Empty if unknown. */
      let ownBackend = "";
      let hasOthers = false;
      let checkedAtMs = 0;
      /** Counts messages of new listeners, because a running check can miss a new listener. */
      let greetings = 0;
      let isClosed = false;
      options.listeners.count++;
      const listener = keepListening(options, {
        channels: [changesChannel],
        async opened(connection) {
          const text = `SELECT pg_backend_pid(), pg_advisory_lock_shared(${listenersLock})`;
          ownBackend = (await connection.run(text, [])).rows[0]?.[0] ?? "";
          // The listener now holds the lock. Its greeting informs processes that checked before.
          await notify(connection, `'listens ' || pg_backend_pid()`);
          await check(connection);
          // The listener may have missed signals while it had no connection, so it polls now.
          onSignal(false);
        },
        notified(payload) {
          const sender = payload.replace(/^listens /, "");
          // A driver's signal contains the id of its server process. A trigger's signal is empty.
          if (sender === ownBackend) return;
          if (sender !== payload) {
            greetings++;
            hasOthers = true;
            // The new listener may have missed commits of this process.
            send();
          }
          onSignal(sender === "");
        },
      });

      async function check(connection: PostgresJsConnection): Promise<void> {
        checkedAtMs = options.clock.elapsedMs();
        const greeted = greetings;
        const { rows } = await connection.run(othersListen, []);
        if (greetings === greeted) hasOthers = rows[0]?.[0] === "t";
      }

      function send(): void {
        const connection = listener.connection();
        if (!hasOthers || ownBackend === "" || connection?.lost !== false) return;
        const isDue = options.clock.elapsedMs() - checkedAtMs >= checkAgainMs;
        notify(connection, "pg_backend_pid()::text")
          .then(() => isDue ? check(connection) : undefined)
          .catch(() => connection.drop());
      }

      return {
        send,
        async close() {
          if (!isClosed) options.listeners.count--;
          isClosed = true;
          await listener.close();
        },
      };
    },
  };
}

function notify(connection: PostgresJsConnection, payload: string): Promise<unknown> {
  return connection.run(`SELECT pg_notify('${changesChannel}', ${payload})`, []);
}

function keepListening(
  options: PostgresJsConnectionOptions,
  { channels, opened, notified }: {
    readonly channels: readonly string[];
    /** Called after each LISTEN. If the promise rejects, another connection is opened. */
    opened(connection: PostgresJsConnection): Promise<void>;
    notified(payload: string): void;
  },
): { readonly connection: () => PostgresJsConnection | null; readonly close: () => Promise<void> } {
  let isClosed = false;
  let connection: PostgresJsConnection | null = null;
  let cancel = () => {};
  let attempt = open();
  options.choice.onMove.add(moved);

  async function open(): Promise<void> {
    const fresh = connection = new PostgresJsConnection({ ...options, notified, lost });
    try {
      await fresh.opening;
      for (const channel of channels) await fresh.run(`LISTEN ${channel}`, []);
      await opened(fresh);
    } catch {
      // The error is ignored: the listener also polls, and a lost connection is opened again.
      fresh.drop();
    }
  }

  function moved(): void {
    if (connection?.opening === null) connection.drop();
  }

  function lost(): void {
    if (!isClosed) cancel = options.clock.after(listenAgainMs, () => attempt = open());
  }

  return {
    connection: () => connection,
    async close() {
      isClosed = true;
      options.choice.onMove.delete(moved);
      cancel();
      await attempt;
      await connection?.close();
    },
  };
}
