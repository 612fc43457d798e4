import { DatabaseError } from "../../../db/database_error.ts";
import type { Connection, Driver } from "../../../db/driver.ts";
import { databaseDefault } from "../../../plan/plan.ts";
import { FailedWrite } from "../refused/failed_write.ts";

/**
 * Postgres counts the keys of new rows without looking at those that rows were given, so that after
 * an import the next rows would get keys that are taken. Where that has refused a write, sets the
 * counter after the largest key: then it is to be tried again. Gives whether it did.
 */
export async function followGivenKeys(
  error: unknown,
  { dialect: { advanceCounter } }: Pick<Driver, "dialect">,
  connection: Connection,
): Promise<boolean> {
  if (advanceCounter === null || !(error instanceof FailedWrite)) return false;
  const { kind, constraint, rows, resource: { table } } = error;
  const { primaryKey: [column, another] } = table;
  if (kind !== "unique" || column === undefined || another !== undefined) return false;
  const isCounted = column.default?.kind === "database" &&
    rows.some(({ values }) => (values.get(column) ?? databaseDefault) === databaseDefault);
  if (!isCounted || constraint?.name?.endsWith("_pkey") !== true) return false;
  try {
    await connection.query(advanceCounter(column, table));
    return true;
  } catch (failure) {
    // The role may insert rows and not set the counter: the refusal stands.
    if (failure instanceof DatabaseError) return false;
    throw failure;
  }
}
