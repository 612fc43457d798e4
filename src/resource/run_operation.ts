import { type Access, authorize, type Grant, type User } from "../auth/authorize.ts";
import { noDebit } from "../guard/budget/debit.ts";
import { catching, chain, type MaybePromise } from "../runtime/maybe_promise.ts";
import { authorizeAdditional } from "./authorize_related.ts";
import type {
  AdditionalGrants,
  Operation,
  OperationCall,
  ResourceCall,
  ResourceRequest,
  ShapedReply,
} from "./model/operation.ts";
import type { Resource } from "./model/resource.ts";
import { narrowForCaller } from "./rights/caller_view.ts";
import { noAdditionalGrants, noRelatedWrites, noResources } from "./rights/related_grants.ts";
import { protectedItems } from "./write/nested/protected_items.ts";
import { nameOfItem, splitNames } from "../filter/syntax/quoted_name.ts";
import { parseKey } from "../plan/key.ts";
import { Problem } from "../problem/problem.ts";
import { DatabaseError, databaseProblem } from "../db/database_error.ts";
import type { TableInfo } from "../schema/table_info.ts";
import { findRefused, hasOwnType } from "../db/rejected_value.ts";
import { refusedLiteralProblem } from "./read/refused_literal.ts";
import { notFound } from "./rights/not_found_or_forbidden.ts";
import { refusedWrite } from "./write/refused/refused_write.ts";
import { isAsDescribed } from "../db/tables/check_tables.ts";

/** Returns the problem if the request's tables have changed since startup, or else null. */
export async function findSchemaChange(
  error: unknown,
  { table, driver, relations, identityOf }: Resource,
): Promise<Problem | null> {
  if (!(error instanceof DatabaseError) || error.kind !== "other") return null;
  const related = [...relations.values()].flatMap(({ steps }) => steps.map((step) => step.table));
  try {
    for (const known of new Set([table, ...related])) {
      if (!await isAsDescribed({ table: known, driver })) {
        return schemaChangedProblem(missing, error);
      }
    }
    return null;
  } catch (failure) {
    // With `actAs`, the read can fail because the user's role may not read table definitions.
    if (identityOf !== null) return null;
    throw databaseProblem(failure, "read");
  }
}

const missing = "The database no longer has a table or a column as the service knows it";

export function schemaChangedProblem(detail: string, cause?: unknown): Problem {
  return new Problem("schema-changed", detail, { cause, headers: { "retry-after": "1" } });
}

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

/** A synchronous stage creates no promise, because each promise delays every request. */
function runStages<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  request: ResourceRequest,
  user: User | null,
  served: Resource,
): MaybePromise<ShapedReply> {
  const resource = served.variesByCaller || request.safeNumbers
    ? narrowForCaller(user, served, request.safeNumbers)
    : served;
  const intent = operation.parse(request, resource);
  const shape = (outcome: Outcome) => operation.shape(outcome, intent, resource);
  return chain(authorizeAll(operation, intent, user, resource), ({ grant, related }) =>
    // Charging can fail with 428 or 429.
    chain(charge(operation, intent, request), () => {
      const plan = operation.plan(intent, grant, resource, related);
      const record = recorder(request, shape);
      const call = { resource, request, user, operation: operation.name };
      return chain(execute(operation, plan, { ...call, record }), shape);
    }));
}

function authorizeAll<Intent, Plan, Outcome>(
  { access, alsoAccess, readsFrom, relatedWrites }: Operation<Intent, Plan, Outcome>,
  intent: Intent,
  user: User | null,
  resource: Resource,
): MaybePromise<{ readonly grant: Grant; readonly related: AdditionalGrants }> {
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

function charge<Intent, Plan, Outcome>(
  { items, relatedWrites }: Operation<Intent, Plan, Outcome>,
  intent: Intent,
  { debit }: ResourceRequest,
): MaybePromise<void> {
  if (items === undefined || debit === noDebit) return;
  const writes = relatedWrites?.(intent) ?? noRelatedWrites;
  return debit.charge(items(intent), writes.length === 0 ? undefined : protectedItems(writes));
}

function recorder<Outcome>(
  { record }: ResourceRequest,
  shape: (outcome: Outcome) => ShapedReply,
): OperationCall<Outcome>["record"] {
  return record && ((outcome, connection) => record(shape(outcome), connection));
}

/** Executes a plan, and converts database errors to problems. No other stage converts them. */
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

interface OperationOnTable<Result> {
  readonly name: string;
  readonly request: ResourceRequest;
  readonly resource: Resource;
  run(): MaybePromise<Result>;
}

/** Replaces a rejection by a 503 if the tables have changed: a retry then uses the new tables. */
function withCurrentTables<Result>(
  tablesChanged: () => Promise<boolean>,
  { name, request, resource, run }: OperationOnTable<Result>,
): MaybePromise<Result> {
  // Does not read the tables again: a transaction of server-side code may hold the only connection,
  // and an import may have written rows already.
  if ((request.code?.within ?? null) !== null || name === "import") return run();
  const checked = () =>
    catching(run, async (error) => {
      if (isRefusal(error, request, resource) && await tablesChanged()) {
        throw schemaChangedProblem(changedByOther, error);
      }
      throw error;
    });
  const mayDrop = hasGenerated(request.body, resource) ||
    selectsUnknown(request.query.get("select"), resource);
  if (!mayDrop) return checked();
  return tablesChanged().then((isChanged) => {
    if (isChanged) throw schemaChangedProblem(changedByOther);
    return checked();
  });
}

/** Returns true if the rejected request could be valid for the current tables of the database. */
function isRefusal(error: unknown, { segment }: ResourceRequest, { table }: Resource): boolean {
  if (!(error instanceof Problem)) return false;
  const { status } = error;
  return status === 400 || status === 422 ||
    status === 404 && segment !== "" && parseKey(segment, table) === null;
}

const changedByOther =
  "Another program has changed the tables of the database, and nothing was written";

/** Returns true if `select` contains unknown names. A new column could have such a name. */
function selectsUnknown(select: string | undefined, { table: { byName } }: Resource): boolean {
  return select !== undefined && !splitNames(select).every((name) => byName.has(nameOfItem(name)));
}

/** Returns true if a body sets a generated column, which may be an ordinary column by now. */
function hasGenerated(body: unknown, { table: { columns } }: Resource): boolean {
  if (typeof body !== "object" || body === null) return false;
  const generated = columns.filter((column) => column.generated);
  return generated.length > 0 && isAnyNamed(generated.map(({ name }) => name), body, 3);
}

function isAnyNamed(names: readonly string[], part: unknown, depth: number): boolean {
  if (typeof part !== "object" || part === null || depth === 0) return false;
  return names.some((name) => Object.hasOwn(part, name)) ||
    Object.values(part).some((value) => isAnyNamed(names, value, depth - 1));
}

/** Runs an operation, and repeats it if a value is rejected and enum labels have changed. */
function withFreshLabels<Result>(
  refreshLabels: NonNullable<TableInfo["refreshLabels"]>,
  { code }: ResourceRequest,
  run: () => MaybePromise<Result>,
): MaybePromise<Result> {
  // Does not read the enums again: a transaction of a caller may hold the only connection.
  if ((code?.within ?? null) !== null) return run();
  return catching(run, async (error) => {
    if (mayBeLabel(error) && await refreshLabels()) return await run();
    throw error;
  });
}

function mayBeLabel(error: unknown): boolean {
  if (error instanceof DatabaseError) return error.kind === "invalid-value";
  return error instanceof Problem &&
    ["filter-parse-error", "invalid-parameter", "validation-error"].includes(error.slug);
}

async function throwFailedExecution(
  error: unknown,
  access: Access,
  call: ResourceCall,
): Promise<never> {
  const { request, resource } = call;
  if (access === "read" && isOfData(error, request)) throw error;
  throw await refusedValue(error, call) ?? await findSchemaChange(error, resource) ??
    await refusedWrite(error, access, resource);
}

/** Returns true if the database rejected a stored value, for example in a cast of a view. */
function isOfData(error: unknown, { query, segment }: ResourceRequest): boolean {
  return error instanceof DatabaseError && error.kind === "invalid-value" &&
    error.raised === null && segment === "" &&
    [...query.keys()].every((name) => withoutValues.has(name)) &&
    !/\b(?:filter|sum|avg):/.test(query.get("include") ?? "");
}

/** Parameters that never cause the error `invalid-value`. */
const withoutValues: ReadonlySet<string> = new Set([
  ...["select", "orderBy", "limit", "offset", "include", "totalCount", "preview"],
  ...["groupBy", "count", "min", "max"],
]);

async function refusedValue(error: unknown, call: ResourceCall): Promise<Problem | null> {
  if (!(error instanceof DatabaseError) || error.kind !== "invalid-value") return null;
  const { request: { query, segment }, resource } = call;
  const { table: { primaryKey }, driver } = resource;
  const key = segment === "" ? null : parseKey(segment, resource.table);
  const values = primaryKey.map((column, index) => ({ column, value: key?.[index] ?? null }));
  const typed = values.filter(({ column, value }) => hasOwnType(column) && value !== null);
  if (await findRefused(typed, driver) !== null) return notFound(resource, segment);
  return await refusedLiteralProblem(query.get("filter"), resource);
}
