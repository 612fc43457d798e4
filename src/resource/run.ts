import { authorize } from "../auth/authorize.ts";
import type { User } from "../auth/user.ts";
import { databaseProblem } from "../db/database_problem.ts";
import type { Reply } from "../protocol/reply.ts";
import type { Call } from "./call.ts";
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
  const grant = await authorize(operation.access, user, resource.policy);
  const plan = operation.plan(intent, grant, resource);
  const outcome = await execute(operation, plan, { resource, request, user });
  return operation.shape(outcome, intent, resource);
}

async function execute<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  plan: Plan,
  call: Call,
): Promise<Outcome> {
  try {
    return await operation.execute(plan, call);
  } catch (error) {
    throw databaseProblem(error, operation.access);
  }
}
