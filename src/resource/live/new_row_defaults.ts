import { Problem } from "../../problem/problem.ts";
import { safeValue } from "../../schema/safe_numbers.ts";
import type { Resource } from "../model/resource.ts";
import { resolveInclude } from "../read/resolve_include.ts";

/** Returns the members that a client shows for its new row until the service has created it. */
export function newRowDefaults(
  resource: Resource,
  include: string | undefined,
): Readonly<Record<string, unknown>> {
  const { fields, fieldsOf, capabilities } = resource;
  // If the fields depend on the caller, this caller might not be allowed to read a default.
  if (!capabilities.enableCreate || fieldsOf !== null) return {};
  const row: Record<string, unknown> = {};
  for (const column of fields.readable) {
    const { name, default: source, generated, notNull } = column;
    if (source === null && !generated && !notNull) row[name] = null;
    else if (source !== null && source.kind !== "function" && source.value !== undefined) {
      row[name] = safeValue(source.value, column);
    }
  }
  for (const { relation: { name, toMany }, metrics } of includesOf(include, resource)) {
    if (metrics.length === 0) row[name] = toMany ? [] : null;
  }
  return row;
}

function includesOf(include: string | undefined, resource: Resource) {
  try {
    return resolveInclude(include, resource);
  } catch (error) {
    // Ignores the problem, because the subscription itself fails with the same problem.
    if (error instanceof Problem) return [];
    throw error;
  }
}
