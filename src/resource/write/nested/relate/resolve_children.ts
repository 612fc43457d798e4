import type { Connection } from "../../../../db/driver.ts";
import { fetchCount, fetchRows } from "../../../../db/rows.ts";
import { and, type Filter } from "../../../../filter/filter.ts";
import { type Key, keyId, keyOf } from "../../../../plan/key.ts";
import type { Assignments } from "../../../../plan/plan.ts";
import type { Row } from "../../../../schema/table_info.ts";
import type { Resource } from "../../../model/resource.ts";
import { atBodyPath, batchTooLarge } from "../../values/batch_items.ts";
import { invalidField } from "../../values/parse_fields.ts";
import { readByKeys, readPlan, type RowsByKey } from "../../read_rows_to_write.ts";
import {
  columnsToClear,
  fixedKeyMessage,
  foreignKeysOf,
  hasForeignKeys,
  hasValue,
  keySourcesFrom,
  mayChange,
  neverNullMessage,
  referringRowsFilter,
} from "../foreign_keys.ts";
import { keyOfExistingRow, type NestedPlan, nestedWriteCall } from "../nested_plan.ts";
import type { NestedRow, RelateStep, RelationChange } from "../nested_rows.ts";
import type { BodyPath, RelatedWrite, ResourceCall } from "../../../model/operation.ts";
import { Problem } from "../../../../problem/problem.ts";

export async function resolveChildren(
  { relation, target }: RelateStep,
  change: RelationChange,
  resolving: RelationLockContext,
): Promise<ResolvedChange> {
  const { around, connect, disconnect, removesOthers, requiresNone } = change;
  const { plan, call, connection } = resolving;
  const bodyPath = connect[0]?.bodyPath ?? around.bodyPath;
  const source = { foreignKeySources: keySourcesFrom(around, relation.steps[0].pairs), bodyPath };
  const keys = foreignKeysOf(source, (row) => resolving.rowOf(row));
  if (requiresNone !== null) {
    const grant = plan.related.get(target);
    const visible = grant === undefined ? null : and(grant.rows, target.undeleted);
    if (visible !== null) {
      await requireNone({ keys, visible, bodyPath: requiresNone }, target, connection);
    }
    return { rows: [], related: [] };
  }
  const { grant } = nestedWriteCall(target, "update", plan, call);
  const visible = and(grant.visible, target.undeleted);
  const named = [...connect, ...disconnect].map((row) => keyOfExistingRow(row, target));
  const others = removesOthers === null
    ? []
    : await otherChildren({ keys, visible, named, bodyPath: removesOthers }, target, connection);
  const what = { keys: [...named, ...others], columns: target.stored };
  const rows = await readByKeys({ ...what, where: visible, lock: true }, target, connection);
  const within = grant.rows.kind === "all" ? rows : await readByKeys(
    { ...what, where: and(visible, grant.rows), columns: target.table.primaryKey },
    target,
    connection,
  );
  const cleared = columnsToClear([...keys.keys()], target);
  const found: Found = {
    ...{ keys, rows, within, target },
    related: new Map([...keys].filter(([column]) => mayChange(column, target))),
    cleared: new Map(cleared.map((column) => [column, null])),
  };
  const connected = connect.flatMap((row) => connectedChild(row, found));
  const removed = [
    ...disconnect.map((row) => ({ key: keyOfExistingRow(row, target), bodyPath: row.bodyPath })),
    ...removesOthers === null ? [] : others.map((key) => ({ key, bodyPath: removesOthers })),
  ].flatMap(({ key, bodyPath }) => removedChild(key, bodyPath, found));
  return {
    rows: [...removed, ...connected],
    related: connect.flatMap((row): readonly (readonly [NestedRow, Row])[] => {
      const current = rows.get(keyId(keyOfExistingRow(row, target), target.table));
      return current !== undefined && hasForeignKeys(current, keys) ? [[row, current]] : [];
    }),
  };
}

interface Found {
  readonly keys: Assignments;
  readonly rows: RowsByKey;
  readonly within: RowsByKey;
  readonly target: Resource;
  /** The values that connect a child, equal for all children, so that one statement is enough. */
  readonly related: Assignments;
  /** The values that disconnect a child. Empty if the foreign key of the child cannot be NULL. */
  readonly cleared: Assignments;
}

function connectedChild(row: NestedRow, found: Found): readonly RelatedRow[] {
  const { keys, target } = found;
  const { bodyPath } = row;
  const key = keyOfExistingRow(row, target);
  const current = found.rows.get(keyId(key, target.table));
  if (current === undefined) throw fault("names no row", bodyPath);
  if (hasForeignKeys(current, keys)) return [];
  requireWithin(key, bodyPath, found);
  const stays = [...keys].filter(([column]) => !mayChange(column, target));
  if (stays.some(([column, value]) => !hasValue(current, column, value))) {
    throw fault(fixedKeyMessage, bodyPath);
  }
  return [{
    ...{ kind: "update", id: idOf(key, bodyPath, target), bodyPath, key },
    current,
    values: found.related,
    row,
  }];
}

/** Returns the child to disconnect. Empty if the child is not related or the user cannot see it. */
function removedChild(key: Key, bodyPath: BodyPath, found: Found): readonly RelatedRow[] {
  const { keys, target, cleared } = found;
  const current = found.rows.get(keyId(key, target.table));
  if (current === undefined || !hasForeignKeys(current, keys)) return [];
  requireWithin(key, bodyPath, found);
  if (cleared.size === 0) throw fault(neverNullMessage, bodyPath);
  return [{
    ...{ kind: "update", id: idOf(key, bodyPath, target), bodyPath, key },
    current,
    values: cleared,
    row: null,
  }];
}

function requireWithin(key: Key, bodyPath: BodyPath, { within, target }: Found): void {
  if (!within.has(keyId(key, target.table))) throw rowOutsideScopeProblem("update", bodyPath);
}

function idOf(key: Key, { path }: BodyPath, { table }: Resource): string {
  return `${path} ${keyId(key, table)}`;
}

interface Others {
  readonly keys: Assignments;
  readonly visible: Filter;
  readonly named: readonly Key[];
  readonly bodyPath: BodyPath;
}

async function otherChildren(
  { keys, visible, named, bodyPath }: Others,
  { table, reader, batch }: Resource,
  connection: Connection,
): Promise<readonly Key[]> {
  const limit = batch.update;
  const where = and(referringRowsFilter(keys), visible);
  const plan = { ...readPlan(table, table.primaryKey, where), limit: limit + named.length + 1 };
  const { rows } = await fetchRows(connection, plan, reader);
  const ids = new Set(named.map((key) => keyId(key, table)));
  const others = rows.map((row) => keyOf(row, table)).filter((key) => !ids.has(keyId(key, table)));
  if (others.length <= limit) return others;
  throw atBodyPath(batchTooLarge(limit, `${bodyPath.path} leaves out more rows`), bodyPath);
}

/** Throws a 422 if a visible row is already related, because the new row must be the only one. */
async function requireNone(
  { keys, visible, bodyPath }: Omit<Others, "named">,
  { table, reader }: Resource,
  connection: Connection,
): Promise<void> {
  const where = and(referringRowsFilter(keys), visible);
  if (await fetchCount(connection, { kind: "count", table, where }, reader) === 0) return;
  throw fault(
    'cannot be created beside the related row: add "disconnect": true, or delete that first',
    bodyPath,
  );
}

function fault(message: string, bodyPath: BodyPath): unknown {
  return atBodyPath(invalidField(message), bodyPath);
}

export type RelatedRow =
  | {
    readonly kind: "update";
    /** Identifies the row. The id is the same before the transaction and in each attempt. */
    readonly id: string;
    readonly bodyPath: BodyPath;
    readonly key: Key;
    readonly current: Row;
    readonly values: Assignments;
    /** The row in the body, or null for a row that only `set` disconnects. */
    readonly row: NestedRow | null;
  }
  | {
    readonly kind: "insert";
    readonly id: string;
    readonly bodyPath: BodyPath;
    readonly values: Assignments;
  }
  | {
    readonly kind: "delete";
    readonly id: string;
    readonly bodyPath: BodyPath;
    readonly key: Key;
    readonly current: Row;
  };

export interface ResolvedChange {
  /** The rows to write. Removed rows come first, because new rows can conflict with them. */
  readonly rows: readonly RelatedRow[];
  readonly related: readonly (readonly [NestedRow, Row])[];
}

export interface RelationLockContext {
  readonly plan: NestedPlan;
  readonly call: ResourceCall;
  readonly connection: Connection;
  rowOf(row: NestedRow): Row;
}

export function rowOutsideScopeProblem(
  access: RelatedWrite["access"],
  bodyPath: BodyPath,
): unknown {
  return atBodyPath(
    new Problem("forbidden", `Cannot ${access}: the row lies outside your scope`),
    bodyPath,
  );
}
