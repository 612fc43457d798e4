import { changesChannel } from "../sql/change_log_schema.ts";
import type { Signals } from "../../../db/driver.ts";
import {
  PostgresJsConnection,
  type PostgresJsConnectionOptions,
} from "./postgres_js_connection.ts";

const listenAgainMs = 1_000;

/**
 * Signals between the processes that use a Postgres, by LISTEN and NOTIFY, each listener on a
 * connection of its own.
 */
export function notifySignals(options: PostgresJsConnectionOptions): Signals {
  return {
    listen(onSignal) {
      let isClosed = false;
      let connection: PostgresJsConnection | null = null;
      /** The backend whose signals are this process' own; empty while the connection is not open. */
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
          // Signals from before were missed.
          onSignal(false);
        } catch {
          // By contract: listeners poll as well, and the loss of the connection starts a new attempt.
          fresh.drop();
        }
      }

      function notified(sender: string): void {
        // A trigger sends no backend.
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
