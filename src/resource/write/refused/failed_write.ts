import { DatabaseError, type DatabaseErrorKind } from "../../../db/database_error.ts";
import type { Assignments } from "../../../plan/plan.ts";
import type { Resource } from "../../model/resource.ts";

/** The body path of a row that a statement writes, and the values that it gives it. */
export interface FailedRow {
  readonly path: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly values: Assignments;
}

/** An error of the database, and the rows of the statement that it refused. */
export class FailedWrite extends DatabaseError {
  readonly resource: Resource;
  /** One of these is at fault. */
  readonly rows: readonly FailedRow[];

  /** `error` is that of the driver. */
  constructor(
    { kind, cause, constraint, raised }: DatabaseError,
    resource: Resource,
    rows: readonly FailedRow[],
  ) {
    super(kind, cause, constraint, raised);
    this.name = "FailedWrite";
    this.resource = resource;
    this.rows = rows;
  }
}

/** The error with the rows of its statement, where a rule of the database refused one of them. */
export function failedWrite(
  error: unknown,
  resource: Resource,
  rows: () => readonly FailedRow[],
): unknown {
  if (!(error instanceof DatabaseError) || error instanceof FailedWrite) return error;
  return refusals.has(error.kind) ? new FailedWrite(error, resource, rows()) : error;
}

/** The kinds of errors by which a database refuses a row for its values. */
export const refusals: ReadonlySet<DatabaseErrorKind> = new Set([
  "unique",
  "foreign-key",
  "not-null",
  "check",
  "invalid-value",
  "failed-computation",
  "raised",
]);
