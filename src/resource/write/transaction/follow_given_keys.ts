import { DatabaseError } from "../../../db/database_error.ts";
import type { Connection, Driver } from "../../../db/driver.ts";
import { databaseDefault } from "../../../plan/plan.ts";
import { FailedWrite } from "../refused/failed_write.ts";

/**
 * Advances the sequence of a key past the largest key, and returns true if the write can be
 * retried. Postgres does not advance the sequence for rows with explicit keys, so keys that are
 * generated after an import may already exist.
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
    await connection.query({ ...advanceCounter(column, table), isSystem: true });
    return true;
  } catch (failure) {
    // If the role can insert rows but not set the sequence, the write fails.
    if (failure instanceof DatabaseError) return false;
    throw failure;
  }
}
