import { authorize, type Grant } from "../auth/authorize.ts";
import { Problem } from "../problem/problem.ts";
import { noRelatedGrants, noRelatedWrites, noResources } from "./rights/related_grants.ts";
import type { Access } from "../auth/scope.ts";
import type { User } from "../auth/user.ts";
import { DatabaseError } from "../db/database_error.ts";
import { noDebit } from "../guard/budget/debit.ts";
import type { Reply } from "../protocol/reply.ts";
import { DataReply, safeReply } from "./http/json_reply.ts";
import { LargeReply } from "./http/large_reply.ts";
import { longText } from "../protocol/text_stream.ts";
import { type MaybePromise, recovered, then } from "../runtime/maybe_promise.ts";
import type {
  Operation,
  OperationCall,
  RelatedGrants,
  ResourceCall,
  ResourceRequest,
  ShapedReply,
} from "./model/operation.ts";
import { changedSchema } from "./read/changed_schema.ts";
import { refusedLiteral } from "./read/refused_literal.ts";
import type { Resource } from "./model/resource.ts";
import { seenBy } from "./rights/caller_view.ts";
import { protectedItems } from "./write/nested/protected_items.ts";
import { refusedWrite } from "./write/refused/refused_write.ts";
import { authorizeRelated } from "./authorize_related.ts";

/**
 * Runs an operation for a request to a resource: parse, authorize, plan, execute, shape, and writes
 * its reply. A stage whose result is there at once costs no promise, each of which would cost every
 * request time.
 */
export function runOperation<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  request: ResourceRequest,
  user: User | null,
  resource: Resource,
): MaybePromise<Reply> {
  return then(
    callOperation(operation, request, user, resource),
    (shaped) =>
      then(
        written(shaped, request, resource),
        (reply) => countLong(reply, operation.access, request, resource),
      ),
  );
}

/**
 * {@link runOperation} for code: the same stages, and the reply as data. What is refused for a value
 * is called once more where enums of the database have other labels now.
 */
export function callOperation<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  request: ResourceRequest,
  user: User | null,
  served: Resource,
): MaybePromise<ShapedReply> {
  const call = () => callOnce(operation, request, user, served);
  const { refreshLabels } = served.table;
  // A transaction of code may hold the only connection.
  if (refreshLabels === null || (request.code?.within ?? null) !== null) return call();
  return recovered(call, async (error) => {
    if (mayBeLabel(error) && await refreshLabels()) return await call();
    throw error;
  });
}

/** Returns true if an operation was refused as for a value that is no label of an enum. */
function mayBeLabel(error: unknown): boolean {
  if (error instanceof DatabaseError) return error.kind === "invalid-value";
  return error instanceof Problem &&
    ["filter-parse-error", "invalid-parameter", "validation-error"].includes(error.slug);
}

function callOnce<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  request: ResourceRequest,
  user: User | null,
  served: Resource,
): MaybePromise<ShapedReply> {
  // For most resources one comparison, and nothing of the functions that narrow them.
  const resource = served.variesByCaller || request.safeNumbers
    ? seenBy(user, served, request.safeNumbers)
    : served;
  const intent = operation.parse(request, resource);
  const shaped = (outcome: Outcome) => operation.shape(outcome, intent, resource);
  const execute = ({ grant, related }: Grants) => {
    const plan = operation.plan(intent, grant, resource, related);
    const call = { resource, request, user, record: recorder(request, resource, shaped) };
    return recovered(() => operation.execute(plan, call), async (error) => {
      if (operation.access === "read" && isOfData(error, request)) throw error;
      throw await refusedValue(error, call) ?? await changedSchema(error, resource) ??
        await refusedWrite(error, operation.access, resource);
    });
  };
  return then(
    grantsOf(operation, intent, user, resource),
    (grants) => then(charge(operation, intent, request), () => then(execute(grants), shaped)),
  );
}

/** Returns true if a database refused a value that is not of the request, as a view may cast what it reads. */
function isOfData(error: unknown, { query, segment }: ResourceRequest): boolean {
  return error instanceof DatabaseError && error.kind === "invalid-value" &&
    error.raised === null && segment === "" &&
    [...query.keys()].every((name) => withoutValues.has(name));
}

/** Parameters that name columns, or have numbers that are checked. A sum may be too large. */
const withoutValues: ReadonlySet<string> = new Set([
  ...["select", "orderBy", "limit", "offset", "include", "totalCount", "preview"],
  ...["groupBy", "count", "min", "max"],
]);

/** The problem of a value in the filter that the database refused; null for every other error. */
async function refusedValue(error: unknown, call: ResourceCall): Promise<Problem | null> {
  const { request: { query }, resource } = call;
  const isRefused = error instanceof DatabaseError && error.kind === "invalid-value";
  return isRefused ? await refusedLiteral(query.get("filter"), resource) : null;
}

/** All grants of one request. */
interface Grants {
  /** For the operation's own access. */
  readonly grant: Grant;
  readonly related: RelatedGrants;
}

/** Public access is granted at once. Throws or rejects with a 401 or 403. */
function grantsOf<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  intent: Intent,
  user: User | null,
  resource: Resource,
): MaybePromise<Grants> {
  return then(
    authorize(operation.access, user, resource.policy),
    (grant) =>
      then(relatedGrants(operation, intent, user, resource), (related) => ({ grant, related })),
  );
}

/** Debits what the body holds beside its first item. */
function charge<Intent, Plan, Outcome>(
  { items, relatedWrites }: Operation<Intent, Plan, Outcome>,
  intent: Intent,
  { debit }: ResourceRequest,
): MaybePromise<void> {
  if (items === undefined || debit === noDebit) return;
  const writes = relatedWrites?.(intent) ?? noRelatedWrites;
  return debit.charge(items(intent), writes.length === 0 ? undefined : protectedItems(writes));
}

/** Stores the reply to an outcome in the transaction of the write; null for most requests. */
function recorder<Outcome>(
  request: ResourceRequest,
  resource: Resource,
  shaped: (outcome: Outcome) => ShapedReply,
): OperationCall<Outcome>["record"] {
  const { record } = request;
  if (record === null) return null;
  return async (outcome, connection) =>
    await record(await written(shaped(outcome), request, resource), connection);
}

/** Returns the reply, which counts until its client has received it where it is long and in one piece. */
function countLong(
  reply: Reply,
  access: Access,
  { delivery }: ResourceRequest,
  { sending }: Resource,
): Reply {
  const { body } = reply;
  if (delivery !== null && typeof body === "string" && body.length >= longText) {
    sending.add(body, delivery, access !== "read");
  }
  return reply;
}

function written(
  shaped: ShapedReply,
  { delivery, safeNumbers }: ResourceRequest,
  { sending }: Resource,
): MaybePromise<Reply> {
  const given = safeNumbers ? safeReply(shaped) : shaped;
  const reply = given instanceof DataReply ? given.write() : given;
  if (!(reply instanceof LargeReply)) return reply;
  if (delivery === null) throw new Error("Only the reply to a request is written");
  return sending.write(reply, delivery);
}

/**
 * Authorizes a request to run an operation again, as {@link runOperation} would, before its stored
 * answer is sent. Throws a 401 or 403, or the error of a scope.
 */
export async function authorizeAgain<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  request: () => ResourceRequest,
  user: User | null,
  served: Resource,
): Promise<void> {
  const resource = seenBy(user, served);
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

function relatedGrants<Intent, Plan, Outcome>(
  { alsoAccess, readsFrom, relatedWrites }: Operation<Intent, Plan, Outcome>,
  intent: Intent,
  user: User | null,
  resource: Resource,
): MaybePromise<RelatedGrants> {
  const reached = readsFrom === undefined ? noResources : readsFrom(intent);
  const writes = relatedWrites === undefined ? noRelatedWrites : relatedWrites(intent);
  return alsoAccess === undefined && reached.size === 0 && writes.length === 0
    ? noRelatedGrants
    : authorizeRelated({ alsoAccess, reached, writes }, user, resource);
}
