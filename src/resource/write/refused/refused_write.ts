import type { Access } from "../../../auth/authorize.ts";
import { constraintColumns } from "../../../db/constraints/constraint_columns.ts";
import { DatabaseError, databaseProblem } from "../../../db/database_error.ts";
import { findRefused, hasOwnType, type TypedValue } from "../../../db/rejected_value.ts";
import { Problem } from "../../../problem/problem.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { Resource } from "../../model/resource.ts";
import { atBodyPath, wholeBody } from "../values/batch_items.ts";
import { type FailedRow, FailedWrite, refusalKinds } from "./failed_write.ts";
import type { FieldError } from "../values/parse_fields.ts";
import type { BodyPath } from "../../model/operation.ts";

/** Returns the problem for a failed write. Its lookups need the failed transaction to be over. */
export async function refusedWrite(
  error: unknown,
  access: Access,
  called: Resource,
): Promise<unknown> {
  const problem = databaseProblem(error, access);
  if (!(problem instanceof Problem) || !(error instanceof DatabaseError)) return problem;
  if (!refusalKinds.has(error.kind) || access !== "create" && access !== "update") return problem;
  const resource = error instanceof FailedWrite ? error.resource : called;
  const { columns, bodyPath } = await faultOf(error, resource);
  const fields = columns.every((column) => resource.fields.readable.includes(column))
    ? columns
    : [];
  const [first, ...errors] = fieldErrors(fields, error, bodyPath);
  if (first === undefined) return atBodyPath(problem, bodyPath);
  return new Problem(problem.slug, `Cannot ${access}: ${first.path} ${first.message}`, {
    headers: problem.headers,
    status: problem.status,
    cause: problem.cause,
    details: { ...bodyPath.details, errors: [first, ...errors] },
  });
}

type Fault = Awaited<ReturnType<typeof faultOf>>;

async function faultOf(error: DatabaseError, resource: Resource) {
  const { table, driver } = resource;
  const rows = error instanceof FailedWrite ? error.rows : [];
  const columnsOf = async (values: FailedWrite["rows"][number]["values"] | null) => {
    try {
      return await constraintColumns(error, { table, values, driver });
    } catch (failure) {
      // The problem is correct without the names of the fields, so a failed lookup is ignored.
      if (failure instanceof DatabaseError) return [];
      throw failure;
    }
  };
  if (error.kind === "invalid-value") {
    const refused = await findRefused(rows.flatMap(typedValues), driver);
    if (refused !== null) return { columns: [refused.value.column], bodyPath: refused.value.row };
  }
  const [only, another] = rows;
  if (only === undefined) return { columns: await columnsOf(null), bodyPath: wholeBody };
  if (another === undefined) return { columns: await columnsOf(only.values), bodyPath: only };
  if (error.kind !== "foreign-key") return { columns: await columnsOf(null), bodyPath: wholeBody };
  for (const row of rows) {
    const columns = await columnsOf(row.values);
    if (columns.length > 0) return { columns, bodyPath: row };
  }
  return { columns: [], bodyPath: wholeBody };
}

function typedValues(row: FailedRow): readonly (TypedValue & { readonly row: FailedRow })[] {
  return [...row.values].filter(([column, value]) =>
    hasOwnType(column) && value !== null && typeof value !== "symbol"
  ).map(([column, value]) => ({ column, value, row }));
}

export function fieldErrors(
  columns: readonly ColumnInfo[],
  { kind }: DatabaseError,
  { path }: BodyPath,
): readonly FieldError[] {
  return columns.map(({ name }) => {
    const others = columns.filter((column) => column.name !== name).map((column) => column.name);
    const together = others.length === 0 ? "" : `, together with ${others.join(", ")}`;
    return {
      path: path === "" ? name : `${path}.${name}`,
      message: `${faults[kind] ?? "is not allowed"}${together}`,
    };
  });
}

const faults: Partial<Record<DatabaseError["kind"], string>> = {
  "unique": "is taken by another row",
  "foreign-key": "refers to no row",
  "not-null": "must not be null",
  "check": "does not pass a check of the database",
  "invalid-value": "has a value that the database does not take",
  "failed-computation": "has a value that the database cannot compute with",
};
