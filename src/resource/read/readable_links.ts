import type { Grant } from "../../auth/authorize.ts";
import { allRows, and, type Filter, noRows } from "../../filter/filter.ts";
import type { Relation } from "../../schema/relation.ts";
import type { Resource } from "../define/resource.ts";

/** The resources that serve what a relation walks over and to: a walk takes the right to each. */
export function reachedByRelation(
  { steps }: Relation,
  { resourceOf }: Resource,
): readonly Resource[] {
  return steps.flatMap(({ table }) => resourceOf(table) ?? []);
}

/**
 * Which links of a `manyToMany` a caller may walk: those that a list of the link table would show,
 * and all of a table that no resource serves. A relation without links has none to leave out.
 */
export function readableLinks(
  { steps: [near, far] }: Relation,
  { resourceOf }: Resource,
  related: ReadonlyMap<Resource, Grant>,
): Filter {
  const served = far === undefined ? undefined : resourceOf(near.table);
  if (served === undefined) return allRows;
  const grant = related.get(served);
  return grant === undefined ? noRows : and(grant.rows, served.live);
}
