import type { Connection } from "../db/driver.ts";
import { fetchCount } from "../db/rows.ts";
import { and, type Filter } from "../filter/filter.ts";
import { type Key, keyFilter } from "../plan/key.ts";
import { Problem } from "../problem/problem.ts";
import type { Write } from "./call.ts";
import type { Resource } from "./resource.ts";

/** One answer for "is not there" and "is not yours": nobody learns which. */
export function notFound(resource: Resource, segment: string): Problem {
  return new Problem(
    "not-found",
    `There is no ${resource.name} with the id ${segment.slice(0, 100)}`,
  );
}

/** Why a write met no row: 404 when its existence may not be admitted, else 403. */
export async function missedRow(
  target: { readonly key: Key; readonly segment: string },
  { grant, resource }: Write,
  connection: Connection,
  among: Filter = resource.live,
): Promise<Problem> {
  const { table, reader } = resource;
  if (grant.rows.kind === "all") return notFound(resource, target.segment);
  const where = and(grant.visible, among, keyFilter(target.key, table));
  const found = await fetchCount(connection, { kind: "count", table, where }, reader);
  return found === 0
    ? notFound(resource, target.segment)
    : new Problem("forbidden", `Cannot ${grant.access}: the row lies outside your scope`);
}
