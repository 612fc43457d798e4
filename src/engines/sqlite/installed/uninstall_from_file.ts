import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { quoteIdentifier, type SqlValue } from "../../../sql/fragment.ts";
import { sqliteTriggerPrefix } from "../sql/change_log_schema.ts";
import { denoKvObjectNames } from "../../../runtime/files/deno_kv_tables.ts";
import type { AnnounceRemoval } from "../../../db/engine/engine.ts";
import { isInternal } from "../../../db/introspection.ts";
import { nodeSqlite } from "../driver/node_sqlite_library.ts";
import { toSqliteError } from "../driver/sqlite_errors.ts";
import {
  ownTables,
  type RemovablePart,
  temporarySequenceTable,
} from "../../../db/installed/removable_parts.ts";

/** Returns the new journal mode, or null if nothing was removed. Throws if the file is in use. */
export function uninstallFromFile(path: string, announce: AnnounceRemoval): string | null {
  try {
    return withFile(path, (file) => {
      const parts = partsOf(file);
      if (parts.length === 0) return null;
      announce(parts);
      const mode = file.text("PRAGMA journal_mode");
      const kept = keptMode(file) ?? mode;
      // SQLite can leave WAL mode only if no other connection exists. Otherwise `leaveWal` throws.
      if (mode === "wal") leaveWal(file, path);
      file.run("BEGIN EXCLUSIVE");
      for (const { drop } of parts) file.run(drop);
      file.run("COMMIT");
      if (file.has(isSequences) && !file.has(isCounted)) removeSequences(file, path);
      // Removes the lock files by which processes take turns to write. See CrossProcessWriteLock.
      for (const turn of ["turn", "next"]) rmSync(`${path}-${turn}`, { force: true });
      if (mode === "wal" && kept === "wal") file.run("PRAGMA journal_mode = WAL");
      return file.text("PRAGMA journal_mode");
    });
  } catch (error) {
    throw toSqliteError(error, nodeSqlite.errorName(error));
  }
}

/** Returns the parts to remove, triggers first. SQLite itself drops the shadow tables. */
function partsOf(file: OpenFile): readonly RemovablePart[] {
  const triggers = file.names(
    "FROM sqlite_schema WHERE type = 'trigger' AND substr(name, 1, length(?)) = ?",
    sqliteTriggerPrefix,
    sqliteTriggerPrefix,
  );
  const names = ownTables.map(() => "?").join(", ");
  const tables = file.names(
    `FROM pragma_table_list WHERE schema = 'main' AND (
       type = 'virtual' AND name LIKE 'service~_fts~_%' ESCAPE '~'
       OR type = 'table' AND (name IN (${names}) OR
         name LIKE '~_service~_keys~_service~_fts~_%' ESCAPE '~'))
     ORDER BY type = 'table', name`,
    ...ownTables,
  );
  const part = (kind: "trigger" | "table") => (name: string): RemovablePart => ({
    kind,
    name,
    drop: `DROP ${kind.toUpperCase()} ${quoteIdentifier(name)}`,
  });
  return [
    ...triggers.map(part("trigger")),
    ...[...tables, ...storeTables(file)].map(part("table")),
  ];
}

/** Returns the tables of a key-value store to drop: none if the file contains only the store. */
function storeTables(file: OpenFile): readonly string[] {
  const isTable =
    "FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'";
  const names = file.names(`${isTable} ORDER BY name`);
  const statements = file.values(`SELECT sql ${isTable} ORDER BY name`);
  const ofStore = denoKvObjectNames(
    names.map((name, at) => ({ name, sql: String(statements[at]) })),
  );
  const isMixed = names.some((name) => !ofStore.has(name) && !isInternal(name));
  return isMixed ? [...ofStore] : [];
}

function keptMode(file: OpenFile): string | null {
  if (!file.has("name = '_service_meta'")) return null;
  const [mode = null] = file.values(
    `SELECT value FROM "_service_meta" WHERE name = 'journal_mode'`,
  );
  return mode === null ? null : String(mode);
}

function leaveWal(file: OpenFile, path: string): void {
  const refused = `Cannot uninstall from ${path}: another program has it open, stop that first`;
  try {
    if (file.text("PRAGMA journal_mode = DELETE") === "wal") throw new Error(refused);
  } catch (error) {
    const isBusy = nodeSqlite.errorName(error) === "SQLITE_BUSY";
    throw isBusy ? new Error(refused, { cause: error }) : error;
  }
}

const isSequences = "name = 'sqlite_sequence'";
const isCounted = "type = 'table' AND sql LIKE '%AUTOINCREMENT%'";

/** SQLite refuses to drop `sqlite_sequence`. Under another name, a new connection can drop it. */
function removeSequences(file: OpenFile, path: string): void {
  file.allowSchemaWrites();
  file.run("PRAGMA writable_schema = ON");
  file.run(
    `UPDATE sqlite_schema SET name = '${temporarySequenceTable}', tbl_name = '${temporarySequenceTable}',
      sql = 'CREATE TABLE ${temporarySequenceTable}(name,seq)' WHERE ${isSequences}`,
  );
  file.run("PRAGMA writable_schema = RESET");
  withFile(path, (again) => again.run(`DROP TABLE ${temporarySequenceTable}`));
}

function withFile<Result>(path: string, work: (file: OpenFile) => Result): Result {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    return work(new OpenFile(database));
  } finally {
    database.close();
  }
}

class OpenFile {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  run(text: string): void {
    this.#database.exec(text);
  }

  values(text: string, ...values: readonly SqlValue[]): readonly unknown[] {
    const rows = this.#database.prepare(text).all(...values);
    return rows.map((row) => Object.values(row)[0]);
  }

  text(text: string): string {
    return String(this.values(text)[0]);
  }

  names(rest: string, ...values: readonly SqlValue[]): readonly string[] {
    return this.values(`SELECT name ${rest}`, ...values).map(String);
  }

  has(condition: string): boolean {
    return this.values(`SELECT 1 FROM sqlite_schema WHERE ${condition} LIMIT 1`).length > 0;
  }

  allowSchemaWrites(): void {
    // `enableDefensive` exists in Deno, but not in its type declarations.
    const database = this.#database as DatabaseSync & { enableDefensive(on: boolean): void };
    database.enableDefensive(false);
  }
}
