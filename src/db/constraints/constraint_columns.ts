import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { DatabaseError } from "../database_error.ts";
import type { Driver } from "../driver.ts";
import { brokenReferences } from "../../engines/sqlite/constraints/broken_references.ts";
import { postgresConstraintColumns } from "../../engines/postgres/constraints/postgres_constraint.ts";
import { sqliteConstraintColumns } from "../../engines/sqlite/constraints/sqlite_constraint.ts";
import type { RowValues } from "../engine/constraints_engine.ts";

/** What is known of a write that a constraint refused. */
export interface RefusedWrite {
  readonly table: TableInfo;
  /** The values that it would have stored, where they are known. */
  readonly values: RowValues | null;
  readonly driver: Driver;
}

/**
 * The columns of the constraint by which the database has refused a write, in the order of the
 * constraint. Empty where it is a constraint of another table, or the engine does not say which one
 * it is. It asks the database, and so is called after the transaction of the write.
 */
export async function constraintColumns(
  error: DatabaseError,
  { table, values, driver }: RefusedWrite,
): Promise<readonly ColumnInfo[]> {
  const isSqlite = driver.dialect.engine === "sqlite";
  if (isSqlite && error.kind === "foreign-key") {
    return values === null ? [] : await brokenReferences(values, table, driver);
  }
  const names = isSqlite
    ? await sqliteConstraintColumns(error, table, driver)
    : await postgresConstraintColumns(error, table, driver);
  const columns = [...new Set(names)].map((name) =>
    table.columns.find(({ dbName }) => dbName.toLowerCase() === name.toLowerCase())
  );
  // A column that the service does not know is none that it may name.
  const known = columns.filter((column) => column !== undefined);
  return known.length === columns.length ? known : [];
}
