import { systemRuntime } from "../runtime/system_runtime.ts";
import { isTableInfo, tableInfoOf, type TableLike } from "../schema/table_like.ts";
import type { TableInfo } from "../schema/table_info.ts";
import { type ChangesOptions, resolveChangesOptions } from "../db/changes/changes_options.ts";
import type { Database } from "../db/database.ts";
import { engineOf } from "../db/engine/engine.ts";

/**
 * Makes the database record every change of the tables, whichever program makes the change: a
 * custom route, a script or another process. Recorded changes reach the subscribers of every
 * process that serves the database. Tables that are already recorded stay unchanged. Tables of
 * {@link Database.introspect} are accepted too. Call this function before `createApp`. Otherwise
 * `createApp` records only the writes of its own requests to these tables.
 *
 * @example
 * ```ts
 * import { integer, openDatabase, table, text, trackMutations } from "@svc/resource-api";
 *
 * const notes = table("notes", { id: integer().primaryKey(), title: text() });
 * const db = await openDatabase("sqlite::memory:");
 * await db.createTables([notes]);
 * await trackMutations(db, [notes]);
 * await db.close();
 * ```
 */
export async function trackMutations(
  db: Database,
  tables: readonly (TableLike<unknown, unknown> | TableInfo)[],
  options: Pick<ChangesOptions, "mode" | "schema" | "exclude"> = {},
): Promise<void> {
  const { random } = systemRuntime(() => {});
  await engineOf(db.driver).changes.setUp({
    driver: db.driver,
    tables: tables.map((table) => isTableInfo(table) ? table : tableInfoOf(table)),
    changes: resolveChangesOptions(options),
    random,
  });
}
