import { changesChannel } from "../sql/change_log_schema.ts";
import type { Signals } from "../../../db/driver.ts";
import {
  PostgresJsConnection,
  type PostgresJsConnectionOptions,
} from "./postgres_js_connection.ts";

const listenAgainMs = 1_000;

/** The channels for signals that the tables may have changed. The second is PostgREST's. */
export const schemaChannels: readonly string[] = ["service_schema", "pgrst"];

/** Creates signals between processes by LISTEN and NOTIFY. Each listener has its own connection. */
export function createPostgresSignals(
  options: PostgresJsConnectionOptions,
  channels: readonly string[] = [changesChannel],
): Signals {
  const isOfChanges = channels !== schemaChannels;
  return {
    listen(onSignal) {
      let isClosed = false;
      let connection: PostgresJsConnection | null = null;
      /** The id of the server process from which this process sends signals. Empty if unknown. */
      let ownBackend = "";
      let cancel = () => {};
      let attempt = open();
      if (isOfChanges) options.listeners.count++;
      options.choice.onMove.add(moved);

      async function open(): Promise<void> {
        const fresh = connection = new PostgresJsConnection({ ...options, notified, lost });
        try {
          await fresh.opening;
          for (const channel of channels) await fresh.run(`LISTEN ${channel}`, []);
          ownBackend = (await fresh.run("SELECT pg_backend_pid()", [])).rows[0]?.[0] ?? "";
          // Without a connection, the listener may have missed signals, so it polls now.
          onSignal(false);
        } catch {
          // The error is ignored: the listener also polls, and a lost connection is opened again.
          fresh.drop();
        }
      }

      function notified(sender: string): void {
        // A driver's signal contains the id of its server process. A trigger's signal has no id.
        if (sender !== ownBackend) onSignal(sender === "");
      }

      function moved(): void {
        if (connection?.opening === null) connection.drop();
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
          if (isOfChanges && !isClosed) options.listeners.count--;
          isClosed = true;
          options.choice.onMove.delete(moved);
          cancel();
          await attempt;
          await connection?.close();
        },
      };
    },
  };
}
