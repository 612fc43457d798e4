import { authorize } from "../auth/authorize.ts";
import { authorizeFurther, noFurtherRights, noPlaces, noResources } from "./further_rights.ts";
import type { User } from "../auth/user.ts";
import { databaseProblem } from "../db/database_problem.ts";
import type { Connection } from "../db/driver.ts";
import type { Reply } from "../protocol/reply.ts";
import type { Operation, ResourceRequest } from "./operation.ts";
import type { Resource } from "./resource.ts";

/** The life of every request to a resource. */
export async function run<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  request: ResourceRequest,
  user: User | null,
  resource: Resource,
): Promise<Reply> {
  const intent = operation.parse(request, resource);
  // What is public needs nobody's answer, and each promise between request and answer is felt.
  const granting = authorize(operation.access, user, resource.policy);
  const grant = granting instanceof Promise ? await granting : granting;
  const { alsoAccess, reaches, creates } = operation;
  const reached = reaches === undefined ? noResources : reaches(intent);
  const created = creates === undefined ? noPlaces : creates(intent);
  const further = alsoAccess === undefined && reached.size === 0 && created.size === 0
    ? noFurtherRights
    : await authorizeFurther({ alsoAccess, reached, created }, user, resource);
  if (operation.items !== undefined) {
    const debiting = request.payment.debit(operation.items(intent));
    if (debiting instanceof Promise) await debiting;
  }
  const plan = operation.plan(intent, grant, resource, further);
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
