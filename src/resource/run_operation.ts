import { authorize, type Grant } from "../auth/authorize.ts";
import type { User } from "../auth/user.ts";
import { noDebit } from "../guard/budget/debit.ts";
import { catching, chain, type MaybePromise } from "../runtime/maybe_promise.ts";
import { authorizeAdditional } from "./authorize_related.ts";
import type {
  AdditionalGrants,
  Operation,
  OperationCall,
  ResourceRequest,
  ShapedReply,
} from "./model/operation.ts";
import type { Resource } from "./model/resource.ts";
import { withCurrentTables } from "./read/current_tables.ts";
import { withFreshLabels } from "./read/fresh_labels.ts";
import { narrowForCaller } from "./rights/caller_view.ts";
import { noAdditionalGrants, noRelatedWrites, noResources } from "./rights/related_grants.ts";
import { protectedItems } from "./write/nested/protected_items.ts";
import { throwFailedExecution } from "./write/refused/failed_execution.ts";

/** Runs an operation for a request or a call by code. Returns its reply before serialization. */
export function runOperation<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  request: ResourceRequest,
  user: User | null,
  served: Resource,
): MaybePromise<ShapedReply> {
  const { table: { refreshLabels }, runtime: { tablesChanged } } = served;
  const runOnce = () => runStages(operation, request, user, served);
  const run = refreshLabels === null
    ? runOnce
    : () => withFreshLabels(refreshLabels, request, runOnce);
  if (tablesChanged === undefined) return run();
  return withCurrentTables(tablesChanged, { name: operation.name, request, resource: served, run });
}

/** Runs the stages, with their status codes. Synchronous stages avoid promises, which are slow. */
function runStages<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  request: ResourceRequest,
  user: User | null,
  served: Resource,
): MaybePromise<ShapedReply> {
  const resource = resourceFor(user, served, request);
  // Parsing can fail with 400, 413, 415 or 422.
  const intent = operation.parse(request, resource);
  const shape = (outcome: Outcome) => operation.shape(outcome, intent, resource);
  // Authorization can fail with 401 or 403.
  return chain(authorizeAll(operation, intent, user, resource), ({ grant, related }) =>
    // Charging can fail with 428 or 429.
    chain(charge(operation, intent, request), () => {
      // Planning can fail with 400.
      const plan = operation.plan(intent, grant, resource, related);
      const record = recorder(request, shape);
      // Execution can fail with 404, 409, 412 or 503.
      return chain(execute(operation, plan, { resource, request, user, record }), shape);
    }));
}

/** Returns the resource with the fields of the user. Most resources are equal for every user. */
function resourceFor(
  user: User | null,
  served: Resource,
  { safeNumbers }: ResourceRequest,
): Resource {
  return served.variesByCaller || safeNumbers ? narrowForCaller(user, served, safeNumbers) : served;
}

interface Grants {
  readonly grant: Grant;
  readonly related: AdditionalGrants;
}

/** Checks the rights, synchronously if the operation is public. Fails with a 401 or 403. */
function authorizeAll<Intent, Plan, Outcome>(
  { access, alsoAccess, readsFrom, relatedWrites }: Operation<Intent, Plan, Outcome>,
  intent: Intent,
  user: User | null,
  resource: Resource,
): MaybePromise<Grants> {
  return chain(authorize(access, user, resource.policy), (grant) => {
    const reached = readsFrom?.(intent) ?? noResources;
    const writes = relatedWrites?.(intent) ?? noRelatedWrites;
    if (alsoAccess === undefined && reached.size === 0 && writes.length === 0) {
      return { grant, related: noAdditionalGrants };
    }
    return authorizeAdditional({ alsoAccess, reached, writes }, user, resource)
      .then((related) => ({ grant, related }));
  });
}

/** Charges the request for every item of its body after the first. */
function charge<Intent, Plan, Outcome>(
  { items, relatedWrites }: Operation<Intent, Plan, Outcome>,
  intent: Intent,
  { debit }: ResourceRequest,
): MaybePromise<void> {
  if (items === undefined || debit === noDebit) return;
  const writes = relatedWrites?.(intent) ?? noRelatedWrites;
  return debit.charge(items(intent), writes.length === 0 ? undefined : protectedItems(writes));
}

/** Returns the function that stores the reply in the write's transaction, or null. */
function recorder<Outcome>(
  { record }: ResourceRequest,
  shape: (outcome: Outcome) => ShapedReply,
): OperationCall<Outcome>["record"] {
  return record && ((outcome, connection) => record(shape(outcome), connection));
}

/** Executes a plan, and converts database errors to problems, which other stages do not. */
function execute<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  plan: Plan,
  call: OperationCall<Outcome>,
): MaybePromise<Outcome> {
  return catching(
    () => operation.execute(plan, call),
    (error) => throwFailedExecution(error, operation.access, call),
  );
}
