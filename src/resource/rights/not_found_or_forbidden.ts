import type { Connection } from "../../db/driver.ts";
import { fetchCount } from "../../db/rows.ts";
import { and, type Filter } from "../../filter/filter.ts";
import { type Key, keyFilter } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import type { WriteCall } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";

export function notFound(resource: Resource, segment: string): Problem {
  return new Problem(
    "not-found",
    `There is no row with the id ${segment.slice(0, 100)} in ${resource.name}`,
  );
}

/** Returns the problem of a write that found no row: 403 if the user can read the row, else 404. */
export async function notFoundOrForbidden(
  target: { readonly key: Key; readonly segment: string },
  { grant, resource }: WriteCall,
  connection: Connection,
  among: Filter = resource.undeleted,
): Promise<Problem> {
  const { table, reader, identityOf } = resource;
  // A policy of the database can allow the user's role to read a row, but not to change it.
  const hasPolicies = identityOf !== null;
  if (grant.rows.kind === "all" && !hasPolicies) return notFound(resource, target.segment);
  const seen = and(grant.visible, among, keyFilter(target.key, table));
  const count = (where: Filter) => fetchCount(connection, { kind: "count", table, where }, reader);
  // If the row is in the scope now, another request created it after the write: still a 404.
  const isExisting = await count(seen) > 0 &&
    (hasPolicies || await count(and(seen, grant.rows)) === 0);
  return isExisting
    ? new Problem("forbidden", `Cannot ${grant.access}: the row lies outside your scope`)
    : notFound(resource, target.segment);
}
