import { changesChannel } from "../sql/change_log_schema.ts";
import type { Signals } from "../../../db/driver.ts";
import {
  PostgresJsConnection,
  type PostgresJsConnectionOptions,
} from "./postgres_js_connection.ts";

const listenAgainMs = 1_000;

/** Creates LISTEN and NOTIFY signals between processes. Each listener has a separate connection. */
export function createPostgresSignals(options: PostgresJsConnectionOptions): Signals {
  return {
    listen(onSignal) {
      let isClosed = false;
      let connection: PostgresJsConnection | null = null;
      /** The id of the server process that sends this process's signals. Empty if it is unknown. */
      let ownBackend = "";
      let cancel = () => {};
      let attempt = open();
      options.listeners.count++;

      async function open(): Promise<void> {
        const fresh = connection = new PostgresJsConnection({ ...options, notified, lost });
        try {
          await fresh.opening;
          await fresh.run(`LISTEN ${changesChannel}`, []);
          ownBackend = (await fresh.run("SELECT pg_backend_pid()", [])).rows[0]?.[0] ?? "";
          // The listener polls now, because it may have missed signals while it had no connection.
          onSignal(false);
        } catch {
          // The error is ignored: listeners also poll, and a lost connection causes a new attempt.
          fresh.drop();
        }
      }

      function notified(sender: string): void {
        // A signal from a trigger contains no id of a server process.
        if (sender !== ownBackend) onSignal(sender === "");
      }

      function lost(): void {
        ownBackend = "";
        if (!isClosed) cancel = options.clock.after(listenAgainMs, () => attempt = open());
      }

      return {
        send() {
          if (ownBackend === "" || connection === null) return;
          const fresh = connection;
          fresh.run(`SELECT pg_notify('${changesChannel}', pg_backend_pid()::text)`, [])
            .catch(() => fresh.drop());
        },
        async close() {
          if (!isClosed) options.listeners.count--;
          isClosed = true;
          cancel();
          await attempt;
          await connection?.close();
        },
      };
    },
  };
}
