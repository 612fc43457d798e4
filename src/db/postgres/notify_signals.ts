import { changesChannel } from "../../sql/postgres/change_log_schema.ts";
import type { Signals } from "../driver.ts";
import {
  PostgresJsConnection,
  type PostgresJsConnectionOptions,
} from "./postgres_js_connection.ts";

const listenAgainMs = 1_000;

/** A connection that listens, and sends what this process has to tell. */
export function notifySignals(parts: PostgresJsConnectionOptions): Signals {
  return {
    listen(heard) {
      let isClosed = false;
      let connection: PostgresJsConnection | null = null;
      /** Whose signals come back to us; empty while nothing is listened for. */
      let own = "";
      let cancel = () => {};
      let attempt = open();
      parts.listeners.count++;

      async function open(): Promise<void> {
        const fresh = connection = new PostgresJsConnection({ ...parts, notified, lost });
        try {
          await fresh.opening;
          await fresh.run(`LISTEN ${changesChannel}`, []);
          own = (await fresh.run("SELECT pg_backend_pid()", [])).rows[0]?.[0] ?? "";
          // Whatever was told before is not told again.
          heard(false);
        } catch {
          // By contract: who listens polls as well, and dropping it makes a new attempt.
          fresh.drop();
        }
      }

      function notified(sender: string): void {
        // A trigger does not name its session.
        if (sender !== own) heard(sender === "");
      }

      function lost(): void {
        own = "";
        if (!isClosed) cancel = parts.clock.after(listenAgainMs, () => attempt = open());
      }

      return {
        send() {
          if (own === "" || connection === null) return;
          const fresh = connection;
          fresh.run(`SELECT pg_notify('${changesChannel}', pg_backend_pid()::text)`, [])
            .catch(() => fresh.drop());
        },
        async close() {
          if (!isClosed) parts.listeners.count--;
          isClosed = true;
          cancel();
          await attempt;
          await connection?.close();
        },
      };
    },
  };
}
