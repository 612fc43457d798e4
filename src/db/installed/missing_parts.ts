import type { Driver } from "../driver.ts";

/** What a service needs in a database that it writes to. */
export interface NeededParts {
  /** The log of changes. */
  readonly log: boolean;
  /** The search indexes. */
  readonly search: boolean;
}

/** What serving a database for writing will change in it, each as a clause; empty where all is there. */
export async function missingParts(
  driver: Driver,
  { log, search }: NeededParts,
): Promise<readonly string[]> {
  const isFile = driver.dialect.engine === "sqlite";
  const names = isFile
    ? "sqlite_schema"
    : "(SELECT relname AS name FROM pg_class WHERE pg_table_is_visible(oid)) AS relations";
  const read = async (text: string) =>
    String((await driver.query({ text, values: [] })).rows[0]?.[0]);
  const has = async (pattern: string) =>
    await read(`SELECT count(*) FROM ${names} WHERE name LIKE '${pattern}' ESCAPE '~'`) !== "0";
  const missing: string[] = [];
  if (isFile && await read("SELECT * FROM pragma_journal_mode") !== "wal") {
    missing.push("it is put into WAL mode");
  }
  if (log && !await has("~_service~_changes")) {
    missing.push(
      isFile
        ? "tables named _service_* are to be added, for the changes that live streams show"
        : "tables and functions named _service_* are to be added, for the changes that live " +
          "streams show",
    );
  }
  if (search && !await has("service~_fts~_%")) {
    missing.push("tables named service_fts_* are to be added, for the search");
  }
  return missing;
}

/** Returns true if the role of a database may create tables in the schema where it creates them by itself. */
export async function mayCreateTables(driver: Driver): Promise<boolean> {
  if (driver.dialect.engine === "sqlite") return true;
  const { rows } = await driver.query({
    text: "SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)",
    values: [],
  });
  return rows[0]?.[0] === "t";
}
