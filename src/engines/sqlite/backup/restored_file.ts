import { DatabaseSync } from "node:sqlite";
import type { Random } from "../../../runtime/runtime.ts";
import { newEpoch } from "../changes/set_up_sqlite_log.ts";
import { denoKvObjectNames } from "../../../runtime/files/deno_kv_tables.ts";
import { nodeSqlite } from "../driver/node_sqlite_library.ts";

/** Begins a new epoch in a restored file: otherwise clients would keep rows that the file lacks. */
export function beginEpoch(path: string, random: Random): void {
  const file = new DatabaseSync(path);
  try {
    const logs = file.prepare("SELECT 1 FROM sqlite_schema WHERE name = '_service_meta'").all();
    if (logs.length === 0) return;
    file.prepare(`UPDATE "_service_meta" SET value = ? WHERE name = 'epoch'`).run(newEpoch(random));
  } finally {
    file.close();
  }
}

export function requireUnused(path: string): void {
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    // The errors of `exec` lack the code of SQLite, so each statement is prepared.
    for (const text of ["PRAGMA journal_mode = DELETE", "BEGIN EXCLUSIVE", "ROLLBACK"]) {
      // SQLite can leave WAL mode only if no other connection exists.
      const { journal_mode: mode } = file.prepare(text).get() ?? {};
      if (mode === "wal") throw inUse(path);
    }
  } catch (error) {
    throw nodeSqlite.errorName(error) === "SQLITE_BUSY" ? inUse(path, error) : error;
  } finally {
    file.close();
  }
}

export function isStore(path: string): boolean | null {
  const file = new DatabaseSync(path, { readOnly: true });
  try {
    const objects = file.prepare("SELECT name, coalesce(sql, '') AS sql FROM sqlite_schema").all();
    const schema = objects.map(({ name, sql }) => ({ name: String(name), sql: String(sql) }));
    const ofStore = denoKvObjectNames(schema);
    const others = schema.filter(({ name }) => !ofStore.has(name) && !name.startsWith("sqlite_"));
    return schema.length === 0 ? null : others.length === 0;
  } finally {
    file.close();
  }
}

function inUse(path: string, cause?: unknown): Error {
  return new Error(`Cannot replace ${path}: another program has it open, stop that first`, {
    cause,
  });
}
