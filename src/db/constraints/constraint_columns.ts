import type { ColumnInfo } from "../../schema/table_info.ts";
import type { DatabaseError } from "../database_error.ts";
import { engineOf, type RefusedWrite } from "../engine/engine.ts";

/** Returns the columns of the violated constraint. Call it after the transaction has ended. */
export async function constraintColumns(
  error: DatabaseError,
  write: RefusedWrite,
): Promise<readonly ColumnInfo[]> {
  const names = await engineOf(write.driver).constraints.columnsOf(error, write);
  const columns = [...new Set(names)].map((name) =>
    write.table.columns.find(({ dbName }) => dbName.toLowerCase() === name.toLowerCase())
  );
  const known = columns.filter((column) => column !== undefined);
  return known.length === columns.length ? known : [];
}
