import { postgresTriggerName, postgresTruncateTriggerName } from "../sql/change_log_schema.ts";
import type { Connection, Driver } from "../../../db/driver.ts";
import type { AnnounceRemoval } from "../../../db/engine/engine.ts";
import { cell, selectNamed } from "../../../db/named_columns.ts";
import { ownTables, type RemovablePart } from "../../../db/installed/removable_parts.ts";

/** The `application_name` of a session that uninstalls. A service has another name. */
export const uninstallApplicationName = "resource-api uninstall";

/** Uninstalls in one transaction, after `announce`. Throws if a service has the database open. */
export async function uninstallFromServer(
  driver: Driver,
  announce: AnnounceRemoval,
): Promise<boolean> {
  return await driver.transaction(async (connection) => {
    const parts = await partsOf(connection);
    if (parts.length === 0) return false;
    announce(parts);
    await requireNoService(driver.label, connection);
    for (const { drop } of parts) await connection.query({ text: drop, values: [] });
    return true;
  });
}

/** Throws if a service has the database open. Waits a second for a service that is closing. */
async function requireNoService(label: string, connection: Connection): Promise<void> {
  let sessions = "";
  for (let tries = 0; tries < 10 && sessions !== "0"; tries++) {
    if (tries > 0) await connection.query({ text: "SELECT pg_sleep(0.1)", values: [] });
    // Clears the list of sessions, which the server caches within a transaction.
    await connection.query({ text: "SELECT pg_stat_clear_snapshot()", values: [] });
    const [other] = await selectNamed(
      connection,
      { sessions: "count(*)" },
      `FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND application_name = 'resource-api'`,
    );
    sessions = String(other?.sessions);
  }
  if (sessions === "0") return;
  throw new Error(
    `Cannot uninstall from ${label}: ${sessions} sessions of a service have it open, stop that first`,
  );
}

async function partsOf(connection: Connection): Promise<readonly RemovablePart[]> {
  const triggers = await selectNamed(
    connection,
    {
      name: cell.text("t.tgname || ' on ' || t.tgrelid::regclass"),
      drop: cell.text("format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass)"),
    },
    `FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
     WHERE (t.tgname IN ($1, $2) OR t.tgname ~ '^_service_history_')
       AND p.proname ~ '^_service_record_(change|version)_[0-9a-f]{16}$'
       AND t.tgparentid = 0
     ORDER BY 1`,
    postgresTriggerName,
    postgresTruncateTriggerName,
  );
  const functions = await selectNamed(
    connection,
    {
      name: cell.text("oid::regprocedure::text"),
      drop: cell.text("format('DROP ROUTINE %s', oid::regprocedure)"),
    },
    `FROM pg_proc
     WHERE proname ~ '^_service_((record_change|record_version|version_key|image|without)_[0-9a-f]{16}|kv_commit)$' ORDER BY 1`,
  );
  const tables = await selectNamed(
    connection,
    {
      name: cell.text("oid::regclass::text"),
      drop: cell.text("format('DROP TABLE %s', oid::regclass)"),
    },
    `FROM pg_class WHERE relkind = 'r'
       AND (relname IN (SELECT json_array_elements_text($1::json)) OR relname ~ '^service_fts_')
       AND relnamespace <> pg_my_temp_schema()
     ORDER BY 1`,
    JSON.stringify(ownTables),
  );
  return [
    ...triggers.map((part) => ({ kind: "trigger", ...part }) as const),
    ...functions.map((part) => ({ kind: "function", ...part }) as const),
    ...tables.map((part) => ({ kind: "table", ...part }) as const),
  ];
}
