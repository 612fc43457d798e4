import type { Access } from "../../auth/scope.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { relatedTerms } from "../../filter/related_terms.ts";
import type { InsertPlan } from "../../plan/plan.ts";
import { Problem } from "../../problem/problem.ts";
import type { WriteCall } from "../model/operation.ts";
import type { WriteConnection } from "./transaction/in_transaction.ts";

/**
 * Returns true if the statement that writes a row can also require the scope of the write. The
 * scope must depend only on the row itself, because a statement does not see its own rows in other
 * tables' conditions, and no trigger may change the row later.
 */
export function canRequireScope({ grant, resource }: WriteCall): boolean {
  const { driver } = resource;
  if (grant.rows.kind === "all") return true;
  return driver.dialect.requireRow !== null && driver.loneWrites !== undefined &&
    resource.returnsFinalRows() && relatedTerms(grant.rows).length === 0;
}

/** Returns the scope for the plan of a statement that writes one row, if the plan can require it. */
export function scopeOfStatement(
  write: WriteCall,
  { inserts }: Pick<WriteConnection, "inserts">,
): Pick<InsertPlan, "within"> {
  const { grant: { rows } } = write;
  const isRequired = rows.kind !== "all" && inserts !== "read-back" && canRequireScope(write);
  return isRequired ? { within: rows } : {};
}

/** Returns the 403 of a write that would create or move a row outside of the scope. */
export function outsideScope(access: Access, cause?: unknown): Problem {
  return new Problem("forbidden", `Cannot ${access}: the row would lie outside your scope`, {
    cause,
  });
}

/** Returns the 403 if a statement failed because its row is outside of the required scope. */
export function scopeProblem(error: unknown, access: Access): unknown {
  const isOutside = error instanceof DatabaseError && error.kind === "outside-scope";
  return isOutside ? outsideScope(access, error) : error;
}
