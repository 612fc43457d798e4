import { type Access, authorize, type Grant, type User } from "../auth/authorize.ts";
import { Problem } from "../problem/problem.ts";
import type {
  AdditionalGrants,
  Operation,
  RelatedWrite,
  ResourceRequest,
} from "./model/operation.ts";
import { atPathAsync } from "./write/values/batch_items.ts";
import type { Resource } from "./model/resource.ts";
import { narrowForCaller } from "./rights/caller_view.ts";
import { noRelatedWrites, noResources } from "./rights/related_grants.ts";

/**
 * Checks the rights that an operation needs in addition to its main access, before any hook or
 * write. Throws a 401 or 403. A related resource that the user may not read is treated as empty.
 */
export async function authorizeAdditional(
  { alsoAccess, reached, writes }: {
    readonly alsoAccess: Access | undefined;
    readonly reached: ReadonlySet<Resource>;
    readonly writes: readonly RelatedWrite[];
  },
  user: User | null,
  resource: Resource,
): Promise<AdditionalGrants> {
  const also = alsoAccess === undefined ? null : await authorize(alsoAccess, user, resource.policy);
  const related = new Map<Resource, Grant>();
  for (const target of reached) {
    const grant = await grantIfAllowed("read", user, target);
    if (grant !== null) related.set(target, grant);
  }
  const written = new Map<Access, Map<Resource, Grant>>();
  for (const { resource: { policy }, resource: target, access, bodyPath } of writes) {
    const granted = written.get(access) ?? new Map<Resource, Grant>();
    if (granted.has(target)) continue;
    granted.set(target, await atPathAsync(bodyPath, () => authorize(access, user, policy)));
    written.set(access, granted);
  }
  return { also, related, written };
}

export async function grantIfAllowed(
  access: Access,
  user: User | null,
  { policy }: Resource,
): Promise<Grant | null> {
  try {
    return await authorize(access, user, policy);
  } catch (error) {
    const isRefusal = error instanceof Problem && (error.status === 401 || error.status === 403);
    if (isRefusal) return null;
    throw error;
  }
}

/** Checks the rights before a stored reply is sent again. Throws a 401, 403 or a scope's error. */
export async function authorizeAgain<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  request: () => ResourceRequest,
  user: User | null,
  served: Resource,
): Promise<void> {
  const { access, alsoAccess } = operation;
  const resource = narrowForCaller(user, served);
  await authorize(access, user, resource.policy);
  let intent: Intent;
  try {
    intent = operation.parse(request(), resource);
  } catch (error) {
    // The first request failed with this problem, too, so the stored reply contains no rows.
    if (error instanceof Problem) return;
    throw error;
  }
  const reached = operation.readsFrom?.(intent) ?? noResources;
  const writes = operation.relatedWrites?.(intent) ?? noRelatedWrites;
  await authorizeAdditional({ alsoAccess, reached, writes }, user, resource);
}
