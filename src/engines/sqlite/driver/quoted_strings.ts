import type { Statement } from "../../../sql/fragment.ts";
import { DatabaseError, reasonOf } from "../../../db/database_error.ts";
import type { Driver } from "../../../db/driver.ts";
import { cell, selectNamed } from "../../../db/named_columns.ts";
import { sqliteTriggerPrefix } from "../sql/change_log_schema.ts";
import type { SqliteLibrary } from "./sqlite_library.ts";

/**
 * Opens a file again if its triggers or views contain strings in double quotes. Other files reject
 * such strings, because a misspelled column would become a string.
 */
export async function acceptQuotedStrings(
  driver: Driver,
  library: SqliteLibrary,
  open: (library: SqliteLibrary) => Promise<Driver>,
): Promise<Driver> {
  const quoting = await quotingParts(driver);
  if (quoting.size === 0) return driver;
  await driver.close();
  const { nodeSqlite, nodeSqliteWithStrings } = await import("./node_sqlite_library.ts");
  const ofWriter: SqliteLibrary = {
    ...nodeSqlite,
    open: (path, readOnly, extensions) =>
      (readOnly ? nodeSqlite : nodeSqliteWithStrings).open(path, readOnly, extensions),
  };
  // Opening fails if this process has the file open with another library. `library` then opens the
  // file, but statements that use a view or trigger with quoted strings fail.
  return await open(quoting.has("view") ? nodeSqliteWithStrings : ofWriter)
    .catch(() => open(library));
}

async function quotingParts(driver: Driver): Promise<ReadonlySet<string>> {
  const statements = await selectNamed(
    driver,
    { type: cell.text("type"), text: cell.text("printf(text, tbl_name, sets)") },
    // Lists only columns of tables, because listing the columns of a broken view is an error.
    `FROM (SELECT *, CASE WHEN tbl_name IN (SELECT name FROM sqlite_schema WHERE type = 'table')
         THEN (SELECT group_concat(printf('"%w" = NULL', name)) FROM pragma_table_info(tbl_name))
         END AS sets FROM sqlite_schema)
       JOIN (SELECT 'view' AS kind, 'EXPLAIN SELECT 1 FROM "%w"' AS text
         UNION ALL VALUES ('trigger', 'EXPLAIN INSERT INTO "%w" DEFAULT VALUES'),
           ('trigger', 'EXPLAIN UPDATE "%w" SET %s'), ('trigger', 'EXPLAIN DELETE FROM "%w"'))
       ON kind = type AND instr(sql, '"') > 0 AND substr(name, 1, ?) <> ? GROUP BY text, tbl_name`,
    sqliteTriggerPrefix.length,
    sqliteTriggerPrefix,
  );
  const quoting = new Set<string>();
  for (const { type, text } of statements) {
    if (await hasQuotedString(driver, { text, values: [] })) quoting.add(type);
  }
  return quoting;
}

async function hasQuotedString(driver: Driver, statement: Statement): Promise<boolean> {
  try {
    await driver.query(statement);
    return false;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return reasonOf(error).endsWith("should this be a string literal in single-quotes?");
  }
}
