import type { ColumnInfo } from "../../schema/table_info.ts";
import type { DatabaseError } from "../database_error.ts";
import type { RefusedWrite } from "../engine/constraints_engine.ts";
import { engineOf } from "../engine/engine_of.ts";

/**
 * The columns of the constraint by which the database has refused a write, in the order of the
 * constraint. Empty where it is a constraint of another table, or the engine does not say which one
 * it is. It asks the database, and so is called after the transaction of the write.
 */
export async function constraintColumns(
  error: DatabaseError,
  write: RefusedWrite,
): Promise<readonly ColumnInfo[]> {
  const names = await engineOf(write.driver).constraints.columnsOf(error, write);
  const columns = [...new Set(names)].map((name) =>
    write.table.columns.find(({ dbName }) => dbName.toLowerCase() === name.toLowerCase())
  );
  // A column that the service does not know is none that it may name.
  const known = columns.filter((column) => column !== undefined);
  return known.length === columns.length ? known : [];
}
