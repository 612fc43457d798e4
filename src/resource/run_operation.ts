import { authorize } from "../auth/authorize.ts";
import { Problem } from "../problem/problem.ts";
import { authorizeRelated, noPaths, noRelatedGrants, noResources } from "./read/related_grants.ts";
import type { User } from "../auth/user.ts";
import { databaseProblem } from "../db/database_problem.ts";
import type { Connection } from "../db/driver.ts";
import type { EmbeddedItems } from "../guard/budget/debit.ts";
import type { Reply } from "../protocol/reply.ts";
import { LargeReply } from "./http/large_reply.ts";
import { longText } from "../protocol/text_stream.ts";
import type { Operation, RelatedGrants, ResourceRequest } from "./operation.ts";
import type { Resource } from "./define/resource.ts";

/** Runs an operation for a request to a resource: parse, authorize, plan, execute, shape. */
export async function runOperation<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  request: ResourceRequest,
  user: User | null,
  resource: Resource,
): Promise<Reply> {
  const intent = operation.parse(request, resource);
  // Public access is granted without a promise: each one between request and answer costs time.
  const authorizing = authorize(operation.access, user, resource.policy);
  const grant = authorizing instanceof Promise ? await authorizing : authorizing;
  const relating = relatedGrants(operation, intent, user, resource);
  const related = relating instanceof Promise ? await relating : relating;
  if (operation.items !== undefined) {
    const embedded = operation.embeddedItems?.(intent) ?? noItems;
    const debiting = request.debit.charge(
      operation.items(intent),
      embedded.size === 0 ? undefined : protectedItems(embedded),
    );
    if (debiting instanceof Promise) await debiting;
  }
  const plan = operation.plan(intent, grant, resource, related);
  const { record: recordReply } = request;
  const record = recordReply === null ? null : async (outcome: Outcome, connection: Connection) => {
    const shaped = operation.shape(outcome, intent, resource);
    await recordReply(await written(shaped, request, resource), connection);
  };
  let outcome: Outcome;
  try {
    outcome = await operation.execute(plan, { resource, request, user, record });
  } catch (error) {
    throw databaseProblem(error, operation.access);
  }
  const writing = written(operation.shape(outcome, intent, resource), request, resource);
  const reply = writing instanceof Promise ? await writing : writing;
  const { body } = reply;
  if (typeof body === "string" && body.length >= longText) {
    resource.sending.add(body, request.delivery, operation.access !== "read");
  }
  return reply;
}

function written(
  reply: Reply | LargeReply,
  { delivery }: ResourceRequest,
  { sending }: Resource,
): Reply | Promise<Reply> {
  return reply instanceof LargeReply ? sending.write(reply, delivery) : reply;
}

/**
 * Authorizes a request to run an operation again, as {@link runOperation} would, before its stored
 * answer is sent. Throws a 401 or 403, or the error of a scope.
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
    // The stored answer is the refusal of this request: it needs no more grants.
    if (error instanceof Problem) return;
    throw error;
  }
  await relatedGrants(operation, intent, user, resource);
}

const noItems: ReadonlyMap<Resource, number> = Object.freeze(new Map<Resource, number>());

/** Embedded rows with the protection of their own resource; those without one cost nothing. */
function protectedItems(embedded: ReadonlyMap<Resource, number>): readonly EmbeddedItems[] {
  return [...embedded].flatMap(([{ protections }, count]) => {
    const protection = protections.get("create");
    return protection === undefined ? [] : [{ protection, count }];
  });
}

function relatedGrants<Intent, Plan, Outcome>(
  { alsoAccess, readsFrom, createsIn }: Operation<Intent, Plan, Outcome>,
  intent: Intent,
  user: User | null,
  resource: Resource,
): RelatedGrants | Promise<RelatedGrants> {
  const reached = readsFrom === undefined ? noResources : readsFrom(intent);
  const created = createsIn === undefined ? noPaths : createsIn(intent);
  return alsoAccess === undefined && reached.size === 0 && created.size === 0
    ? noRelatedGrants
    : authorizeRelated({ alsoAccess, reached, created }, user, resource);
}
