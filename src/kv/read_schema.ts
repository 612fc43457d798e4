import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { SchemaObject } from "../runtime/files/deno_kv_tables.ts";

/** Reads the file with the SQLite of Deno KV: another library would release Deno KV's locks. */
export function readSqliteFileSchema(path: string): readonly SchemaObject[] {
  const database = openReadOnly(path);
  try {
    const rows = database.prepare(
      "SELECT name, coalesce(sql, '') AS sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'",
    ).all();
    return rows.map(({ name, sql }) => ({ name: String(name), sql: String(sql) }));
  } finally {
    database.close();
  }
}

function openReadOnly(path: string): DatabaseSync {
  const options = { readOnly: true, timeout: 0 };
  if (!existsSync(`${path}-wal`) && !existsSync(`${path}-journal`)) {
    try {
      // Without a journal, the file is complete. With `immutable`, SQLite creates no other files.
      return new DatabaseSync(`${pathToFileURL(path)}?immutable=1`, options);
    } catch (error) {
      // With restricted permissions, Deno takes the URI for a path and finds no file there.
      if (!(error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR")) {
        throw error;
      }
    }
  }
  return new DatabaseSync(path, options);
}
