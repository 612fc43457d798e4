import type { Grant } from "../../auth/authorize.ts";
import { allRows, and, type Filter, noRows } from "../../filter/filter.ts";
import type { Relation } from "../../schema/relation.ts";
import type { AdditionalGrants, RelatedWrite } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";

export const noResources: ReadonlySet<Resource> = Object.freeze(new Set<Resource>());

export const noRelatedWrites: readonly RelatedWrite[] = Object.freeze([]);

export const noAdditionalGrants: AdditionalGrants = Object.freeze({
  also: null,
  related: new Map(),
  written: new Map(),
});

export function resourcesReadByRelation(
  { steps }: Relation,
  { served }: Resource,
): readonly Resource[] {
  return steps.flatMap(({ table }) => served.get(table) ?? []);
}

/**
 * Returns the filter for the links that the caller can read. If no resource serves the table of the
 * links, the caller can read all of them.
 */
export function readableLinksFilter(
  { steps: [near, far] }: Relation,
  { served }: Resource,
  related: ReadonlyMap<Resource, Grant>,
): Filter {
  const link = far === undefined ? undefined : served.get(near.table);
  if (link === undefined) return allRows;
  const grant = related.get(link);
  return grant === undefined ? noRows : and(grant.rows, link.undeleted);
}
