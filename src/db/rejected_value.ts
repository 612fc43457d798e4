import type { ColumnInfo } from "../schema/table_info.ts";
import { type Fragment, join, rawSql, sql, toStatement } from "../sql/fragment.ts";
import { DatabaseError, databaseProblem } from "./database_error.ts";
import type { Driver } from "./driver.ts";

export interface TypedValue {
  readonly column: ColumnInfo;
  readonly value: unknown;
  /** The SQL that reads the value. By default, the value is cast to the type of the column. */
  readonly read?: Fragment | undefined;
}

/** Returns true if only the database knows which values the column accepts. */
export function hasOwnType({ databaseType }: ColumnInfo): boolean {
  return databaseType !== undefined;
}

export interface RejectedValue<T extends TypedValue> {
  readonly value: T;
  readonly error: DatabaseError;
}

/** Finds the first value that the database rejects, by bisection. Null if there is none. */
export async function findRefused<T extends TypedValue>(
  values: readonly T[],
  driver: Driver,
): Promise<RejectedValue<T> | null> {
  for (let start = 0; start < values.length; start += valuesOfStatement) {
    const refused = await bisect(values.slice(start, start + valuesOfStatement), driver);
    if (refused !== null) return refused;
  }
  return null;
}

const valuesOfStatement = 1000;

async function bisect<T extends TypedValue>(
  values: readonly T[],
  driver: Driver,
): Promise<RejectedValue<T> | null> {
  const [value] = values;
  const error = value === undefined ? null : await errorOf(values, driver);
  if (value === undefined || error === null) return null;
  if (values.length === 1) return { value, error };
  const middle = values.length >> 1;
  return await bisect(values.slice(0, middle), driver) ??
    await bisect(values.slice(middle), driver);
}

async function errorOf(
  values: readonly TypedValue[],
  driver: Driver,
): Promise<DatabaseError | null> {
  const { dialect } = driver;
  const tests = values.map(({ column, value, read }) =>
    read ??
      sql`CAST(${dialect.encode(value, column)} AS ${
        rawSql(column.databaseType?.sqlName ?? "text")
      })`
  );
  try {
    await driver.query(toStatement(sql`SELECT ${join(tests, ", ")}`, dialect.placeholder));
    return null;
  } catch (error) {
    // A value of a domain can also violate a check or NOT NULL.
    const kinds: readonly string[] = ["invalid-value", "check", "not-null"];
    if (error instanceof DatabaseError && kinds.includes(error.kind)) return error;
    throw databaseProblem(error, "read");
  }
}
