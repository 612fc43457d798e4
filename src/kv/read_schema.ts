import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { SchemaObject } from "../runtime/files/deno_kv_tables.ts";

/** Reads a file's schema by Deno KV's SQLite: another library would release the process's locks. */
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
      // Without a journal, the file is complete. `immutable` makes SQLite create no other files.
      return new DatabaseSync(`${pathToFileURL(path)}?immutable=1`, options);
    } catch (error) {
      // If a process has only some permissions, Deno uses the URI as the name of a file.
      if (!(error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR")) {
        throw error;
      }
    }
  }
  return new DatabaseSync(path, options);
}
