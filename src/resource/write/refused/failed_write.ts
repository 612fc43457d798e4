import { DatabaseError, type DatabaseErrorKind } from "../../../db/database_error.ts";
import type { Assignments } from "../../../plan/plan.ts";
import type { Resource } from "../../model/resource.ts";

export interface FailedRow {
  readonly path: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly values: Assignments;
}

export class FailedWrite extends DatabaseError {
  readonly resource: Resource;
  readonly rows: readonly FailedRow[];

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

export function toFailedWrite(
  error: unknown,
  resource: Resource,
  rows: () => readonly FailedRow[],
): unknown {
  if (!(error instanceof DatabaseError) || error instanceof FailedWrite) return error;
  return refusalKinds.has(error.kind) ? new FailedWrite(error, resource, rows()) : error;
}

export const refusalKinds: ReadonlySet<DatabaseErrorKind> = new Set([
  "unique",
  "foreign-key",
  "not-null",
  "check",
  "invalid-value",
  "failed-computation",
  "raised",
]);
