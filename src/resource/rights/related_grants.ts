import type { Grant } from "../../auth/authorize.ts";
import { allRows, and, type Filter, noRows } from "../../filter/filter.ts";
import type { Relation } from "../../schema/relation.ts";
import type { RelatedGrants, RelatedWrite } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";

/** An empty set, for operations that need no grants on related resources. */
export const noResources: ReadonlySet<Resource> = Object.freeze(new Set<Resource>());

/** For operations that write no rows beside their own. */
export const noRelatedWrites: readonly RelatedWrite[] = Object.freeze([]);

/** For operations that need no related grants, only that of their own access. */
export const noRelatedGrants: RelatedGrants = Object.freeze({
  also: null,
  related: new Map(),
  written: new Map(),
});

/**
 * The resources that a relation needs related grants for: those that serve its link table and its
 * target.
 */
export function reachedByRelation(
  { steps }: Relation,
  { served }: Resource,
): readonly Resource[] {
  return steps.flatMap(({ table }) => served.get(table) ?? []);
}

/**
 * The rows of a `manyToMany`'s link table that the related grants let a request walk: those that a
 * list of the table would show, and all rows where no resource serves the table. All for a relation
 * without a link table.
 */
export function readableLinks(
  { steps: [near, far] }: Relation,
  { served }: Resource,
  related: ReadonlyMap<Resource, Grant>,
): Filter {
  const link = far === undefined ? undefined : served.get(near.table);
  if (link === undefined) return allRows;
  const grant = related.get(link);
  return grant === undefined ? noRows : and(grant.rows, link.undeleted);
}
