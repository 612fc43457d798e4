import type { Connection } from "../../../../db/driver.ts";
import { cell, selectNamed } from "../../../../db/named_columns.ts";
import { isInternal } from "../../../../db/introspection.ts";
import { denoKvObjectNames } from "../../../../runtime/files/deno_kv_tables.ts";
import { shadowTables } from "./shadow_tables.ts";

export interface ListedTable {
  readonly name: string;
  readonly withoutRowid: boolean;
  readonly sql: string;
}

export async function listFileTables(connection: Connection) {
  const all = await selectNamed(
    connection,
    {
      name: cell.text("l.name"),
      type: cell.text("l.type"),
      withoutRowid: cell.flag("l.wr"),
      sql: cell.text("coalesce(m.sql, '')"),
    },
    `FROM pragma_table_list AS l JOIN sqlite_schema AS m ON m.name = l.name
     WHERE l.schema = 'main' AND m.type IN ('table', 'view') ORDER BY l.name`,
  );
  const shadows = shadowTables(all, await readModules(connection));
  const ofStore = denoKvObjectNames(all);
  const shown = all.filter(({ name }) => !isInternal(name) && !shadows.has(name));
  const ofType = (wanted: string) =>
    shown.filter(({ name, type }) => type === wanted && !ofStore.has(name));
  return {
    tables: ofType("table"),
    views: ofType("view"),
    virtual: ofType("virtual"),
    leftOut: shown.filter(({ name }) => ofStore.has(name))
      .map(({ name }) => ({ table: name, reason: reasonOfStore })),
  };
}

async function readModules(connection: Connection): Promise<ReadonlySet<string>> {
  const rows = await selectNamed(connection, { name: "lower(name)" }, "FROM pragma_module_list");
  return new Set(rows.map(({ name }) => String(name)));
}

const reasonOfStore = "it is of a key-value store, which may hold password hashes";
