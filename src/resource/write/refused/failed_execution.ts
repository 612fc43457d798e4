import type { Access } from "../../../auth/scope.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import { findRefused, hasOwnType } from "../../../db/rejected_value.ts";
import { parseKey } from "../../../plan/key.ts";
import type { Problem } from "../../../problem/problem.ts";
import type { ResourceCall, ResourceRequest } from "../../model/operation.ts";
import { findSchemaChange } from "../../read/changed_schema.ts";
import { refusedLiteralProblem } from "../../read/refused_literal.ts";
import { notFound } from "../../rights/not_found_or_forbidden.ts";
import { refusedWrite } from "./refused_write.ts";

/** Throws the problem of a failed operation, or its error if the request is not the cause. */
export async function throwFailedExecution(
  error: unknown,
  access: Access,
  call: ResourceCall,
): Promise<never> {
  const { request, resource } = call;
  if (access === "read" && isOfData(error, request)) throw error;
  throw await refusedValue(error, call) ?? await findSchemaChange(error, resource) ??
    await refusedWrite(error, access, resource);
}

/** Returns true if the database rejected a stored value, which a view casts for example. */
function isOfData(error: unknown, { query, segment }: ResourceRequest): boolean {
  return error instanceof DatabaseError && error.kind === "invalid-value" &&
    error.raised === null && segment === "" &&
    [...query.keys()].every((name) => withoutValues.has(name));
}

/** Parameters whose values cannot cause such an error. The sum of a metric, for example, can. */
const withoutValues: ReadonlySet<string> = new Set([
  ...["select", "orderBy", "limit", "offset", "include", "totalCount", "preview"],
  ...["groupBy", "count", "min", "max"],
]);

/** Returns the problem of a filter's value or of an id that the database rejected, or null. */
async function refusedValue(error: unknown, call: ResourceCall): Promise<Problem | null> {
  if (!(error instanceof DatabaseError) || error.kind !== "invalid-value") return null;
  const { request: { query, segment }, resource } = call;
  const { table: { primaryKey }, driver } = resource;
  const key = segment === "" ? null : parseKey(segment, resource.table);
  const values = primaryKey.map((column, index) => ({ column, value: key?.[index] ?? null }));
  const typed = values.filter(({ column, value }) => hasOwnType(column) && value !== null);
  if (await findRefused(typed, driver) !== null) return notFound(resource, segment);
  return await refusedLiteralProblem(query.get("filter"), resource);
}
