import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { SchemaObject } from "../runtime/files/deno_kv_tables.ts";

/** Reads a file's schema by Deno KV's SQLite: another library would release the process's locks. */
export function readSqliteFileSchema(path: string): readonly SchemaObject[] {
  const open = (place: string) => new DatabaseSync(place, { readOnly: true, timeout: 0 });
  const isAtRest = !existsSync(`${path}-wal`) && !existsSync(`${path}-journal`);
  // Without a journal, the file is complete. `immutable` keeps SQLite from creating other files.
  const database = open(isAtRest ? `${pathToFileURL(path)}?immutable=1` : path);
  try {
    const rows = database.prepare(
      "SELECT name, coalesce(sql, '') AS sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'",
    ).all();
    return rows.map(({ name, sql }) => ({ name: String(name), sql: String(sql) }));
  } finally {
    database.close();
  }
}
