import { closeSync, openSync } from "node:fs";
import type { LogFile } from "../db/log_file.ts";
import { nodeSqlite } from "./sqlite/driver/node_sqlite_library.ts";
import type { SqliteStatement } from "./sqlite/driver/sqlite_library.ts";

/**
 * Opens a log file, or `:memory:`, with the SQLite of the host. Throws if the file belongs to
 * another program: `applicationId` marks the files with these tables. A commit does not wait for
 * the disk, so a crash of the machine can damage the file.
 */
export function openLogFile(
  path: string,
  { applicationId, tables }: {
    readonly applicationId: number;
    readonly tables: readonly string[];
  },
): LogFile {
  // Only the user of the service can read the file.
  if (path !== ":memory:") closeSync(openSync(path, "a", 0o600));
  const handle = nodeSqlite.open(path, false);
  const statements = new Map<string, SqliteStatement>();
  function prepared(text: string): SqliteStatement {
    const known = statements.get(text) ?? handle.prepare(text);
    statements.set(text, known);
    return known;
  }
  const file: LogFile = {
    rows(text, ...values) {
      const statement = prepared(text);
      const names = statement.columnNames();
      return (statement.all(values, false) ?? []).map((row) =>
        Object.fromEntries(names.map((name, index) => [name, row[index] ?? null]))
      );
    },
    run: (text, ...values) => void prepared(text).run(values),
    transaction(work) {
      file.run("BEGIN IMMEDIATE");
      try {
        work();
        file.run("COMMIT");
      } catch (error) {
        file.run("ROLLBACK");
        throw error;
      }
    },
    close: () => handle.close(),
  };
  try {
    for (const setting of ["busy_timeout = 2000", "journal_mode = TRUNCATE", "synchronous = OFF"]) {
      file.rows(`PRAGMA ${setting}`);
    }
    const [found] = file.rows(`SELECT application_id AS id FROM pragma_application_id
      WHERE EXISTS (SELECT 1 FROM sqlite_schema)`);
    if (found !== undefined && found.id !== applicationId) {
      throw new Error("it is a file of another program");
    }
    file.transaction(() => {
      for (const text of [`PRAGMA application_id = ${applicationId}`, ...tables]) file.run(text);
    });
    // A request must not wait long for another worker's lock: the service retries the write.
    file.rows("PRAGMA busy_timeout = 20");
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}
