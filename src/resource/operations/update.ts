import { DatabaseError } from "../../db/database_error.ts";
import type { Grant } from "../../auth/authorize.ts";
import type { Resource } from "../model/resource.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { hasEchoedValue, valuesForHooks } from "../../plan/echoed_value.ts";
import { resolveUnchanged } from "../write/values/echoed_values.ts";
import { noneIncluded, rowReply } from "../shape/output.ts";
import { loggedId, withDefaults } from "../write/values/new_row_values.ts";
import type { Operation, OperationCall, ResourceRequest, WriteCall } from "../model/operation.ts";
import { noRelatedWrites, noResources } from "../rights/related_grants.ts";
import { wholeBody } from "../write/values/batch_items.ts";
import { toFailedWrite } from "../write/refused/failed_write.ts";
import {
  inTransaction,
  isAutocommit,
  type WriteConnection,
} from "../write/transaction/in_transaction.ts";
import { parseRowChanges } from "../write/values/parse_fields.ts";
import { ownCount, relatedWrites } from "../write/nested/nested_rows.ts";
import { parseNestedChanges } from "../write/nested/parse/parse_nested_rows.ts";
import {
  resourcesReadByUpdate,
  type UpdatedRows,
  type UpdateNestedPlan,
  updateNestedRows,
} from "../write/nested/write_nested_rows.ts";
import { writeRecordingId } from "../write/record_ids.ts";
import {
  canRequireScope,
  fetchRow,
  lockTarget,
  mayWriteAlone,
  optimisticIdOf,
  parsePathRow,
  planTarget,
  type RowTarget,
  scopeOfStatement,
  withoutKey,
  writableTarget,
} from "../write/row_target.ts";
import { beforeUpdate } from "../write/run_hooks.ts";
import { updateReturning, updateRow } from "../write/update_and_delete.ts";
import { and, comparison } from "../../filter/filter.ts";
import { lessOrEqualOperator } from "../../filter/operators/operator_registry.ts";
import { type Assignments, databaseDefault, incrementedValue } from "../../plan/plan.ts";
import { integerVersionOf, type Precondition, requirePrecondition } from "../http/etag.ts";
import { expectedVersion, nextVersion, withTimestamps } from "../write/row_version.ts";

interface UpdatePlan {
  readonly target: RowTarget;
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
  readonly optimisticId: string | null;
  readonly grant: Grant;
  readonly nested: UpdateNestedPlan | null;
}

export const update: Operation<ReturnType<typeof parseUpdate>, UpdatePlan, UpdatedRows> = {
  name: "update",
  access: "update",
  takesBody: true,

  parse(request, resource) {
    return parseUpdate(request, resource, (values) => values);
  },

  items: ({ nested }) => nested === null ? 1 : ownCount(nested),
  relatedWrites: ({ nested }) => nested === null ? noRelatedWrites : relatedWrites(nested),
  readsFrom: ({ nested }) => nested === null ? noResources : resourcesReadByUpdate(nested),

  plan({ named, values: given, optimisticId: id, nested: body }, grant, resource, rights) {
    const target = planTarget(named, resource);
    const values = withoutKey(given, target.key, resource);
    const optimisticId = id === null ? null : loggedId(id, resource);
    const { written, related } = rights;
    const nested = body === null
      ? null
      : { body, grant, optimisticId, written, related, updated: { target, values } };
    return { target, values, optimisticId, grant, nested };
  },

  async execute(plan, call) {
    return plan.nested === null
      ? await updateOne(plan, call)
      : await updateNestedRows(plan.nested, call);
  },

  shape({ row, optimisticId, included }, _update, resource) {
    return rowReply(200, row, resource, { optimisticId, included });
  },
};

/** Parses a PATCH or PUT. A foreign key has a placeholder if a nested row determines its value. */
export function parseUpdate(
  request: ResourceRequest,
  resource: Resource,
  complete: (values: ReadonlyMap<ColumnInfo, unknown>) => ReadonlyMap<ColumnInfo, unknown>,
) {
  const { body } = request;
  const nested = holdsRelations(body, resource)
    ? parseNestedChanges(body, resource, complete)
    : null;
  const values = nested?.rows[0]?.given ?? complete(parseRowChanges(body, resource));
  const optimisticId = optimisticIdOf(request);
  return { named: parsePathRow(request, resource), values, optimisticId, nested };
}

function holdsRelations(body: unknown, { nestedWrites, relations }: Resource): boolean {
  if (!nestedWrites || typeof body !== "object" || body === null) return false;
  // Loops over the relations, because a body can contain many more names.
  return [...relations.keys()].some((name) => Object.hasOwn(body, name));
}

async function updateOne(
  plan: UpdatePlan,
  call: OperationCall<UpdatedRows>,
): Promise<UpdatedRows> {
  const write = { ...call, grant: plan.grant };
  const values = call.resource.hooks.onBeforeUpdate === undefined
    ? plan.values
    : await hookedValues(plan, write);
  try {
    return await updateWith(values, plan, call, false);
  } catch (error) {
    // SQLite also checks unchanged foreign keys: the second attempt sets only changed values.
    const isRefused = error instanceof DatabaseError && error.constraint === null &&
      (error.kind === "foreign-key" || error.kind === "broken-table");
    if (!isRefused) throw error;
    return await updateWith(values, plan, call, true);
  }
}

async function updateWith(
  values: ReadonlyMap<ColumnInfo, unknown>,
  { target, grant, optimisticId }: UpdatePlan,
  call: OperationCall<UpdatedRows>,
  readsFirst: boolean,
): Promise<UpdatedRows> {
  const write = { ...call, grant };
  const isNamed = optimisticId !== null;
  const updated = isNamed || readsFirst ? null : await updateAtVersion(target, values, write);
  if (updated !== null) return { row: updated, optimisticId: null, included: noneIncluded };
  const update = async (connection: WriteConnection): Promise<UpdatedRows> => {
    const written = await writeRecordingId(
      { key: target.key, optimisticId },
      call.resource,
      connection,
      () => updateRow({ target, set: values, readsFirst }, write, connection),
    );
    return { ...written, included: noneIncluded };
  };
  try {
    return await inTransaction(write, update, {
      isAutocommit: !isNamed && !readsFirst && !hasEchoedValue(values) &&
        call.resource.etag === null && isAutocommit(write, "onAfterUpdate"),
    });
  } catch (error) {
    // A deferred constraint can reject the values at the commit.
    throw toFailedWrite(
      error,
      call.resource,
      () => [{ ...wholeBody, values: valuesForHooks(values) }],
    );
  }
}

/** Returns the before-hook's values. Throws before the hook runs if the update cannot succeed. */
async function hookedValues(
  { target, values }: UpdatePlan,
  write: WriteCall,
): Promise<ReadonlyMap<ColumnInfo, unknown>> {
  const { resource } = write;
  const current = await lockTarget(target, write, resource.driver);
  resolveUnchanged(current, values, resource);
  return await beforeUpdate({ key: target.key, current: () => current }, values, write);
}

/** The largest version to which JavaScript can add 1 exactly. */
const maxVersion = Number.MAX_SAFE_INTEGER - 1;

/**
 * Updates the row in one statement. Returns null if the row must be read first or does not match.
 * Throws a 412 if the row has another version.
 */
async function updateAtVersion(
  target: RowTarget,
  set: Assignments,
  write: WriteCall & { readonly record: unknown },
): Promise<Row | null> {
  const { resource, record } = write;
  const { etag, hooks } = resource;
  const field = etag?.versionField ?? null;
  if (field === null || etag === null || etag.updatedAtField !== null || record !== null) {
    return null;
  }
  if (hooks.onAfterUpdate !== undefined || set.has(field) || !canRequireScope(write)) return null;
  if (resource.indexers.length > 0 || hasEchoedValue(set)) return null;
  if (!mayWriteAlone(resource)) return null;
  const step = versionStep(target.precondition, set, resource);
  if (step === null) return null;
  const where = and(writableTarget(target, write), step.from);
  const nowMs = resource.runtime.clock.now();
  const counted = withTimestamps(new Map([...set, [field, step.next]]), resource, nowMs);
  const updated = await inTransaction<Row | null>(
    { ...write, record: null },
    (connection) => {
      const scope = scopeOfStatement(write, connection);
      return updateReturning({ where, ...scope }, counted, resource, connection);
    },
    { isAutocommit: true },
  );
  if (updated === null && target.precondition !== null) {
    // Clients often send an outdated version. This check throws the 412 without a transaction.
    const stored = await fetchRow(writableTarget(target, write), resource, resource.driver);
    if (stored !== null) requirePrecondition(target.precondition, stored, resource);
  }
  return updated;
}

function versionStep(
  precondition: Precondition,
  set: Assignments,
  { etag, driver }: Resource,
) {
  const field = etag?.versionField ?? null;
  if (etag === null || field === null) return null;
  const { checksTypes } = driver.dialect;
  if (precondition !== null) {
    const from = expectedVersion(precondition, { etag });
    // The database adds 1, because the version in `If-Match` plus 1 may exceed the column's range.
    const next = checksTypes ? incrementedValue : nextVersion(integerVersionOf(precondition, etag));
    return from === null || next === null ? null : { from, next };
  }
  // If the engine checks no types, the stored version may be a string. The row is then read first.
  return field.kind === "integer" && checksTypes && set.size > 0
    ? { from: comparison(lessOrEqualOperator, field, [maxVersion]), next: incrementedValue }
    : null;
}

/** PUT: fields that the body omits are reset to their default, or else to null. */
export const replace: typeof update = {
  ...update,
  name: "replace",

  parse(request, resource) {
    return parseUpdate(request, resource, (values) => completeReplacement(values, resource));
  },
};

export function completeReplacement(
  given: ReadonlyMap<ColumnInfo, unknown>,
  resource: Resource,
): ReadonlyMap<ColumnInfo, unknown> {
  const { table, fields, generated, etag } = resource;
  const resettable = (column: ColumnInfo) =>
    fields.writable.has(column) && !fields.immutable.has(column) && !column.primaryKey &&
    !column.generated && column.writeTimestamp === null && !generated.has(column) &&
    column !== etag?.versionField &&
    column !== etag?.updatedAtField;
  const replaced = withDefaults(given, resource, resettable);
  for (const column of table.columns.filter(resettable)) {
    if (replaced.has(column)) continue;
    replaced.set(column, column.default === null ? null : databaseDefault);
  }
  return replaced;
}
