import { authorize, type Grant } from "../../auth/authorize.ts";
import type { Access } from "../../auth/scope.ts";
import type { User } from "../../auth/user.ts";
import { allRows, and, type Filter, noRows } from "../../filter/filter.ts";
import { Problem } from "../../problem/problem.ts";
import type { Relation } from "../../schema/relation.ts";
import type { RelatedGrants, RelatedWrite } from "../operation.ts";
import { withinAsync } from "../write/body_path.ts";
import type { Resource } from "../define/resource.ts";

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

/** What an operation needs related grants for, beside the grant of its own access. */
export interface RelatedAccess {
  readonly alsoAccess: Access | undefined;
  readonly reached: ReadonlySet<Resource>;
  readonly writes: readonly RelatedWrite[];
}

/**
 * Authorizes the related grants of a request, beside the one for its own access. An operation fails
 * with 401 or 403 without its second access, or without the right to what else it writes, before any
 * hook or write. A related resource that the user may not read is left out
 * instead, as if it had no rows.
 */
export async function authorizeRelated(
  { alsoAccess, reached, writes }: RelatedAccess,
  user: User | null,
  resource: Resource,
): Promise<RelatedGrants> {
  const also = alsoAccess === undefined ? null : await authorize(alsoAccess, user, resource.policy);
  const related = new Map<Resource, Grant>();
  for (const target of reached) {
    const grant = await authorizeRead(target, user);
    if (grant !== null) related.set(target, grant);
  }
  const written = new Map<Access, Map<Resource, Grant>>();
  for (const { resource: { policy }, resource: target, access, bodyPath } of writes) {
    const granted = written.get(access) ?? new Map<Resource, Grant>();
    if (granted.has(target)) continue;
    granted.set(target, await withinAsync(bodyPath, () => authorize(access, user, policy)));
    written.set(access, granted);
  }
  return { also, related, written };
}

async function authorizeRead({ policy }: Resource, user: User | null): Promise<Grant | null> {
  try {
    return await authorize("read", user, policy);
  } catch (error) {
    const isRefusal = error instanceof Problem && (error.status === 401 || error.status === 403);
    if (isRefusal) return null;
    throw error;
  }
}

/**
 * The resources that a relation needs related grants for: those that serve its link table and its
 * target.
 */
export function reachedByRelation(
  { steps }: Relation,
  { resourceOf }: Resource,
): readonly Resource[] {
  return steps.flatMap(({ table }) => resourceOf(table) ?? []);
}

/**
 * The rows of a `manyToMany`'s link table that the related grants let a request walk: those that a
 * list of the table would show, and all rows where no resource serves the table. All for a relation
 * without a link table.
 */
export function readableLinks(
  { steps: [near, far] }: Relation,
  { resourceOf }: Resource,
  related: ReadonlyMap<Resource, Grant>,
): Filter {
  const served = far === undefined ? undefined : resourceOf(near.table);
  if (served === undefined) return allRows;
  const grant = related.get(served);
  return grant === undefined ? noRows : and(grant.rows, served.undeleted);
}
