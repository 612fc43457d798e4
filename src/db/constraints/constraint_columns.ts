import type { ColumnInfo } from "../../schema/table_info.ts";
import type { DatabaseError } from "../database_error.ts";
import type { RefusedWrite } from "../engine/constraints_engine.ts";
import { engineOf } from "../engine/engine_of.ts";

/**
 * Returns the columns of the constraint by which the database rejected a write, in its order. The
 * result is empty for a constraint of another table, or if the engine does not name it. It queries
 * the database, so that it must be called after the transaction of the write.
 */
export async function constraintColumns(
  error: DatabaseError,
  write: RefusedWrite,
): Promise<readonly ColumnInfo[]> {
  const names = await engineOf(write.driver).constraints.columnsOf(error, write);
  const columns = [...new Set(names)].map((name) =>
    write.table.columns.find(({ dbName }) => dbName.toLowerCase() === name.toLowerCase())
  );
  // Columns that the service does not know cannot be named.
  const known = columns.filter((column) => column !== undefined);
  return known.length === columns.length ? known : [];
}
