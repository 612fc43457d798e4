/** The table that all sides of `http_bench.ts` and `export_bench.ts` serve. */
// @ts-types="./better_sqlite3.d.ts"
import Database from "better-sqlite3";

/** Opens the file with the pragmas of the service. Creates and fills the table of a new file. */
export function openNotes(path: string): Database {
  const db = new Database(path);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.pragma("foreign_keys = ON");
  db.pragma("recursive_triggers = ON");
  db.exec(`CREATE TABLE IF NOT EXISTS notes (
    id INTEGER PRIMARY KEY,
    owner_id TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    status TEXT NOT NULL,
    rank INTEGER,
    version INTEGER NOT NULL,
    created_at TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS notes_by_rank ON notes (rank, id)`);
  return db;
}

/** Fills the table of a new file. */
export function fillNotes(path: string, count = 10_000): void {
  const db = openNotes(path);
  // The rollback journal of a new file is short, but a WAL would contain all rows once more.
  db.pragma("journal_mode = DELETE");
  db.prepare(
    `WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < ?)
     INSERT INTO notes
     SELECT id, 'user-' || (id % 100), 'Note number ' || id, ?,
       CASE WHEN id % 3 = 0 THEN 'draft' ELSE 'published' END, id % 1000, 1,
       '2026-01-31T12:00:00.000000Z'
     FROM ids`,
  ).run(count, "A body of some sixty characters, as notes tend to have one. ".repeat(2));
  db.pragma("journal_mode = WAL");
  db.close();
}
