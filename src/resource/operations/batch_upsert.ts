import type { Grant } from "../../auth/authorize.ts";
import type { Connection } from "../../db/driver.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { allRows, and } from "../../filter/filter.ts";
import { rowMatches } from "../../filter/match/row_matches.ts";
import { compareKeys, formatKey, keyId, keyOf } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { requireFittingReply, rowsReply } from "../http/json_reply.ts";
import { mapItemsInTurn, type NamedItem, parseNamedItems } from "../write/batch_items.ts";
import { type ItemUpdate, updateItems } from "../write/update_locked_rows.ts";
import { insertRows } from "../write/insert_rows.ts";
import { idsOfItems, noOptimisticIds, recordIds, type WrittenRows } from "../write/record_ids.ts";
import { valuesFor, valuesForNewRow } from "../write/given_values.ts";
import { readByKeys } from "../write/read_rows_to_write.ts";
import { beforeCreate, hookedItem } from "../write/run_hooks.ts";
import { inTransaction, type WriteConnection } from "../write/in_transaction.ts";
import { InvalidFields, parseRow, withoutImmutable, withoutKey } from "../write/parse_fields.ts";
import { currentRows, RowsChanged } from "../write/rows_changed.ts";
import { newRowValues } from "../write/new_row_values.ts";
import type { Operation, OperationCall, ResourceCall } from "../operation.ts";
import { itemPath } from "../write/body_path.ts";
import { preconditionFailed, requirePrecondition } from "../http/etag.ts";
import type { Resource } from "../define/resource.ts";

interface UpsertPlan {
  readonly items: readonly NamedItem[];
  readonly create: Grant;
  readonly update: Grant;
}

/** `POST /batch/upsert`: updates the rows of a batch that exist, creates the others. */
export const batchUpsert: Operation<readonly NamedItem[], UpsertPlan, WrittenRows> = {
  name: "upsert",
  access: "create",
  alsoAccess: "update",
  takesBody: true,

  parse({ body }, resource) {
    return parseNamedItems(body, resource.batch.create, resource, parseRow);
  },

  items: ({ length }) => length,

  plan(items, create, _resource, { also }) {
    if (also === null) throw new Error("An upsert needs the right to update as well");
    return { items, create, update: also };
  },

  async execute(plan, call) {
    if (plan.items.length === 0) return { rows: [], recorded: noOptimisticIds };
    return await currentRows(() => upsertOnce(plan, call));
  },

  shape(written, _items, resource) {
    return rowsReply(200, written, resource);
  },
};

/** The items whose row exists and those whose row is created, each in the order of the batch. */
interface SortedItems {
  readonly existing: readonly ItemUpdate[];
  readonly fresh: readonly NamedItem[];
}

/** Before-hooks, transaction, after-hooks. */
async function upsertOnce(
  plan: UpsertPlan,
  call: OperationCall<WrittenRows>,
): Promise<WrittenRows> {
  const { resource, resource: { hooks } } = call;
  const idsOf = idsOfItems(plan.items, resource);
  const isHooked = hooks.onBeforeCreate !== undefined || hooks.onBeforeUpdate !== undefined;
  const hooked = isHooked ? await runBeforeHooks(plan, call) : plan;
  let fresh: readonly NamedItem[] = [];
  try {
    return await inTransaction(call, async (connection) => {
      const sorted = await sortItems(hooked, call, connection);
      fresh = sorted.fresh;
      const { written: rows, recorded } = await recordIds(
        idsOf,
        resource,
        connection,
        () => writeSorted(sorted, plan, call, connection),
      );
      requireFittingReply(rows, resource);
      return { rows, recorded };
    });
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind !== "unique") throw error;
    throw await existsNow(fresh, resource) ? new RowsChanged("upsert", error) : error;
  }
}

/** The items after the before-hooks: a row that existed then must still exist, and vice versa. */
interface HookedPlan extends UpsertPlan {
  /** The indexes of the items whose row existed. */
  readonly existing?: ReadonlySet<number>;
}

async function runBeforeHooks(plan: UpsertPlan, call: ResourceCall): Promise<HookedPlan> {
  const { existing, fresh } = await sortItems(plan, call, call.resource.driver);
  const update = { ...call, grant: plan.update };
  const create = { ...call, grant: plan.create };
  const changed = await mapItemsInTurn(existing, (item) => hookedItem(item, update));
  const created = await mapItemsInTurn(
    fresh,
    async (item) => ({ ...item, values: await beforeCreate(item.values, create) }),
  );
  return {
    ...plan,
    items: [...changed, ...created].sort((left, right) => left.index - right.index),
    existing: new Set(existing.map(({ index }) => index)),
  };
}

/**
 * Looks up the items' rows and locks them. Throws where a row is outside the scope (403), marked
 * deleted (409) or in another state than its item expects (412).
 */
async function sortItems(
  { items, update, existing: expected }: HookedPlan,
  { resource }: ResourceCall,
  connection: Connection,
): Promise<SortedItems> {
  const { table } = resource;
  const keys = items.map(({ key }) => key);
  const what = { keys, where: allRows, columns: table.columns, lock: true as const };
  const rows = await readByKeys(what, resource, connection);
  const existing = items.flatMap((item) => {
    const current = rows.get(keyId(item.key, table));
    if (current === undefined) return [];
    return [{ ...item, current, values: withoutKey(item.values, item.key, resource) }];
  });
  const fresh = await mapItemsInTurn(
    items.filter(({ key }) => !rows.has(keyId(key, table))),
    (item) => ({ ...item, values: valuesForNewRow(item.values) }),
  );
  const isSame = expected === undefined ||
    expected.size === existing.length && existing.every(({ index }) => expected.has(index));
  if (!isSame) throw new RowsChanged("upsert");
  await requireInScope(existing, update, resource, connection);
  await mapItemsInTurn(existing, (item) => requireUpdatable(item, resource));
  await mapItemsInTurn(fresh, (item) => requireCreatable(item, resource));
  // After the hooks, which may set immutable columns, the values are no longer those of the body.
  if (expected !== undefined) return { existing, fresh };
  const changes = await mapItemsInTurn(existing, (item) => ({
    ...item,
    values: withoutImmutable(item.values, resource),
  }));
  return { existing: changes, fresh };
}

/** An invisible row is a 403 like any other outside the scope: its key cannot be created either. */
async function requireInScope(
  items: readonly ItemUpdate[],
  update: Grant,
  resource: Resource,
  connection: Connection,
): Promise<void> {
  const { table } = resource;
  const where = and(update.rows, update.visible);
  if (where.kind === "all") return;
  const what = { keys: items.map(({ key }) => key), where, columns: table.primaryKey };
  const reached = await readByKeys(what, resource, connection);
  await mapItemsInTurn(items, ({ key }) => {
    if (reached.has(keyId(key, table))) return;
    throw new Problem("forbidden", "Cannot update: the row lies outside your scope");
  });
}

function requireUpdatable(item: ItemUpdate, resource: Resource): void {
  const { key, current, precondition } = item;
  if (!rowMatches(resource.undeleted, current)) {
    const id = formatKey(key).slice(0, 100);
    throw new Problem(
      "conflict",
      `Cannot update ${id}: it is deleted, and stays so until restored`,
    );
  }
  requirePrecondition(precondition, current, resource);
  valuesFor(current, item.values, resource);
}

function requireCreatable({ precondition }: NamedItem, { table }: Resource): void {
  if (precondition !== null) throw preconditionFailed(null);
  const column = table.primaryKey.find(({ generated }) => generated);
  if (column === undefined) return;
  const message = "names no row, and only the database gives new rows their key";
  throw new InvalidFields([{ path: column.name, message }]);
}

async function writeSorted(
  { existing, fresh }: SortedItems,
  { items, create, update }: UpsertPlan,
  call: ResourceCall,
  connection: WriteConnection,
): Promise<readonly Row[]> {
  const { resource } = call;
  const { table } = resource;
  // In the order of the keys, so that two upserts cannot deadlock.
  const creations = fresh.toSorted((left, right) => compareKeys(left.key, right.key, table));
  const creation = { ...call, grant: create };
  const values = await mapItemsInTurn(
    creations,
    (item) => newRowValues(withKey(item, resource), create, resource),
  );
  const created = await insertRows(
    values,
    creations.map(({ index }) => itemPath(index)),
    creation,
    connection,
  );
  const changed = await updateItems(existing, { ...call, grant: update }, connection);
  const written = [...created, ...changed];
  const rows = new Map(written.map((row) => [keyId(keyOf(row, table), table), row]));
  return items.flatMap(({ key }) => {
    const row = rows.get(keyId(key, table));
    return row === undefined ? [] : [row];
  });
}

/** The values with the key of the item, which a hook may not change. */
function withKey({ key, values }: NamedItem, resource: Resource): ReadonlyMap<ColumnInfo, unknown> {
  const named = resource.table.primaryKey.map((column, index) => [column, key[index]] as const);
  return new Map([...named, ...withoutKey(values, key, resource)]);
}

async function existsNow(items: readonly NamedItem[], resource: Resource): Promise<boolean> {
  const { table, driver } = resource;
  const what = { keys: items.map(({ key }) => key), where: allRows, columns: table.primaryKey };
  return (await readByKeys(what, resource, driver)).size > 0;
}
