import type { Grant } from "../../../auth/authorize.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import { allRows, comparedColumns } from "../../../filter/filter.ts";
import { compareKeys, type Key, type KeyColumns, keyId, keyOf } from "../../../plan/key.ts";
import type { ColumnInfo, Row } from "../../../schema/table_info.ts";
import type { Resource, WrittenRows } from "../../model/resource.ts";
import { requireFittingReply } from "../../shape/output.ts";
import type { BodyPath, OperationCall, ResourceCall } from "../../model/operation.ts";
import { atBodyPath, type KeyedItem, mapItemsInTurn, wholeBody } from "../values/batch_items.ts";
import { invalidField } from "../values/parse_fields.ts";
import { insertRows } from "../insert_rows.ts";
import { inTransaction, type WriteConnection } from "../transaction/in_transaction.ts";
import { loggedId, newRowValues } from "../values/new_row_values.ts";
import { readByKeys } from "../read_rows_to_write.ts";
import { idsOfRows, writeRecordingIds } from "../record_ids.ts";
import { beforeCreate, beforeUpdateItem } from "../run_hooks.ts";
import { updateItems } from "../update_locked_rows.ts";
import {
  type ItemsToSort,
  type SortedItems,
  sortItems,
  type UniqueKey,
  type UpsertItem,
} from "./sort_items.ts";
import { retryIfRowsChanged, RowsChanged, withoutKey } from "../row_target.ts";

export interface UpsertPlan extends Pick<ItemsToSort, "by" | "update" | "isCounted"> {
  readonly items: readonly KeyedItem[];
  readonly create: Grant;
}

export interface UpsertedRows extends WrittenRows {
  readonly created: ReadonlySet<number>;
}

export async function upsertRows(
  plan: UpsertPlan,
  call: OperationCall<UpsertedRows>,
): Promise<UpsertedRows> {
  return await retryIfRowsChanged(() => upsertOnce(plan, call));
}

async function upsertOnce(
  plan: UpsertPlan,
  call: OperationCall<UpsertedRows>,
): Promise<UpsertedRows> {
  const { resource, resource: { hooks, table } } = call;
  const ids = plan.items.map(({ optimisticId }) => loggedId(optimisticId, resource));
  const isHooked = hooks.onBeforeCreate !== undefined || hooks.onBeforeUpdate !== undefined;
  const named = plan.items.map((item) => ({ ...item, name: item.key }));
  const hooked = isHooked ? await runBeforeHooks(named, plan, call) : { items: named };
  let fresh: readonly UpsertItem[] = [];
  try {
    return await inTransaction(call, async (connection) => {
      const sorted = await sortItems({ ...plan, ...hooked }, resource, connection);
      fresh = sorted.fresh;
      const { written: rows, recorded } = await writeRecordingIds(
        idsOfRows(ids, table),
        resource,
        connection,
        () => writeSorted(sorted, plan, call, connection),
      );
      requireFittingReply(rows, resource);
      return { rows, recorded, created: indexesOf(sorted.fresh) };
    });
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind !== "unique") throw error;
    throw await existsNow(fresh, plan.by, resource) ? new RowsChanged("upsert", error) : error;
  }
}

async function runBeforeHooks(
  items: readonly UpsertItem[],
  plan: UpsertPlan,
  call: ResourceCall,
) {
  const { resource } = call;
  const { existing, fresh } = await sortItems({ ...plan, items }, resource, resource.driver);
  const update = { ...call, grant: plan.update };
  const create = { ...call, grant: plan.create };
  const changed = await mapItemsInTurn(
    existing,
    async (item) => ({ ...item, ...await beforeUpdateItem(item, update) }),
  );
  const created = await mapItemsInTurn(
    fresh,
    async (item) => ({ ...item, values: await beforeCreate(item.values, create) }),
  );
  return {
    items: [...changed, ...created].sort((left, right) => left.index - right.index),
    expected: indexesOf(existing),
  };
}

function indexesOf(items: readonly UpsertItem[]): ReadonlySet<number> {
  return new Set(items.map(({ index }) => index));
}

async function writeSorted(
  { existing, fresh }: SortedItems,
  { items, by, create, update, isCounted }: UpsertPlan,
  call: ResourceCall,
  connection: WriteConnection,
): Promise<readonly Row[]> {
  const { resource } = call;
  // All upserts insert rows in the order of their keys, so that two upserts cannot deadlock.
  const creations = fresh.toSorted((left, right) => compareKeys(left.name, right.name, by));
  const creation = { ...call, grant: create };
  const values = await mapItemsInTurn(
    creations,
    (item) => newRowValues(withName(item, by, resource), create, resource),
  );
  const bodyPaths = creations.map(({ bodyPath }) => bodyPath);
  const created = await insertRows(values, bodyPaths, creation, connection);
  await requireCondition(created, by, resource, connection, bodyPaths);
  const changed = await updateItems(existing, { ...call, grant: update }, connection, isCounted);
  const written = new Map([
    ...creations.map(({ index }, place) => [index, created[place]] as const),
    ...existing.map(({ index }, place) => [index, changed[place]] as const),
  ]);
  return items.map(({ index }) => {
    const row = written.get(index);
    if (row === undefined) throw new Error("An item of an upsert was not written");
    return row;
  });
}

/** New rows must match the partial index. Otherwise, a repeated upsert would add another row. */
async function requireCondition(
  created: readonly Row[],
  { rows: condition }: UniqueKey,
  resource: Resource,
  connection: WriteConnection,
  bodyPaths: readonly BodyPath[],
): Promise<void> {
  if (condition === undefined || created.length === 0) return;
  const { table } = resource;
  const keys = created.map((row) => keyOf(row, table));
  const what = { keys, where: condition, columns: table.primaryKey };
  const matching = await readByKeys(what, resource, connection);
  const place = keys.findIndex((key) => !matching.has(keyId(key, table)));
  if (place < 0) return;
  const names = comparedColumns(condition).map(({ name }) => name).join(" and ");
  const fault = invalidField(`must match the condition in "on": set ${names}`);
  throw atBodyPath(fault, bodyPaths[place] ?? wholeBody);
}

/** Adds the unique key to the item's values. A hook can change a unique key, but no primary key. */
function withName(
  { name, values }: UpsertItem,
  by: KeyColumns,
  resource: Resource,
): ReadonlyMap<ColumnInfo, unknown> {
  const named = by.primaryKey.map((column, index) => [column, name[index]] as const);
  return new Map([
    ...named,
    ...by === resource.table ? withoutKey(values, name, resource) : values,
  ]);
}

async function existsNow(
  items: readonly UpsertItem[],
  by: UniqueKey,
  resource: Resource,
): Promise<boolean> {
  const keys = items.map(({ name }): Key => name);
  const what = { keys, by, where: by.rows ?? allRows, columns: by.primaryKey };
  return (await readByKeys(what, resource, resource.driver)).size > 0;
}
