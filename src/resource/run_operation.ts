import { authorize } from "../auth/authorize.ts";
import { Problem } from "../problem/problem.ts";
import { authorizeRelated, noPaths, noRelatedGrants, noResources } from "./read/related_grants.ts";
import type { User } from "../auth/user.ts";
import { databaseProblem } from "../db/database_problem.ts";
import type { Connection } from "../db/driver.ts";
import type { Reply } from "../protocol/reply.ts";
import type { Operation, RelatedGrants, ResourceRequest } from "./operation.ts";
import type { Resource } from "./define/resource.ts";

/** The life of every request to a resource. */
export async function runOperation<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  request: ResourceRequest,
  user: User | null,
  resource: Resource,
): Promise<Reply> {
  const intent = operation.parse(request, resource);
  // What is public needs nobody's answer, and each promise between request and answer is felt.
  const granting = authorize(operation.access, user, resource.policy);
  const grant = granting instanceof Promise ? await granting : granting;
  const seeking = relatedGrants(operation, intent, user, resource);
  const related = seeking instanceof Promise ? await seeking : seeking;
  if (operation.items !== undefined) {
    const debiting = request.debit.charge(operation.items(intent));
    if (debiting instanceof Promise) await debiting;
  }
  const plan = operation.plan(intent, grant, resource, related);
  const { record: recordReply } = request;
  const record = recordReply === null
    ? null
    : (outcome: Outcome, connection: Connection) =>
      recordReply(operation.shape(outcome, intent, resource), connection);
  let outcome: Outcome;
  try {
    outcome = await operation.execute(plan, { resource, request, user, record });
  } catch (error) {
    throw databaseProblem(error, operation.access);
  }
  return operation.shape(outcome, intent, resource);
}

/**
 * Asks for the rights that {@link runOperation} would need, and does nothing with them: before an answer of
 * the past is given again. Throws a 401 or 403, or what a scope throws.
 */
export async function authorizeAgain<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  request: () => ResourceRequest,
  user: User | null,
  resource: Resource,
): Promise<void> {
  await authorize(operation.access, user, resource.policy);
  let intent: Intent;
  try {
    intent = operation.parse(request(), resource);
  } catch (error) {
    // A request that was refused for what it says asks for no more, and may hear so again.
    if (error instanceof Problem) return;
    throw error;
  }
  await relatedGrants(operation, intent, user, resource);
}

function relatedGrants<Intent, Plan, Outcome>(
  { alsoAccess, reaches, creates }: Operation<Intent, Plan, Outcome>,
  intent: Intent,
  user: User | null,
  resource: Resource,
): RelatedGrants | Promise<RelatedGrants> {
  const reached = reaches === undefined ? noResources : reaches(intent);
  const created = creates === undefined ? noPaths : creates(intent);
  return alsoAccess === undefined && reached.size === 0 && created.size === 0
    ? noRelatedGrants
    : authorizeRelated({ alsoAccess, reached, created }, user, resource);
}
