import { transactionHandle } from "../../db/database_handle.ts";
import { type Key, keyOf } from "../../plan/key.ts";
import { EchoedValue, valueForHook } from "../../plan/echoed_value.ts";
import { databaseDefault } from "../../plan/plan.ts";
import { writeJson } from "../../schema/exact_json.ts";
import { deadline } from "../../runtime/runtime.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { HookContext, RowId, StoredRowContext } from "../model/hooks.ts";
import type { WriteConnection } from "./transaction/in_transaction.ts";
import { apiForHandler, type WriteCall } from "../model/operation.ts";
import type { KeyedItem } from "./values/batch_items.ts";
import { parseHookValues, toHookObject } from "./values/parse_fields.ts";
import { withoutKey } from "./row_target.ts";

export type ReadCurrent = () => MaybePromise<Row>;

export function beforeCreate(
  values: ReadonlyMap<ColumnInfo, unknown>,
  write: WriteCall,
): MaybePromise<ReadonlyMap<ColumnInfo, unknown>> {
  const { hooks } = write.resource;
  if (hooks.onBeforeCreate === undefined) return values;
  const data = toHookObject(values);
  return runBeforeHook(write, (context) => hooks.onBeforeCreate?.(context, data))
    .then((changed) => parseHookValues(changed ?? data, write.resource));
}

export interface HookedRow {
  readonly key: Key;
  readonly current: ReadCurrent;
}

export async function beforeUpdate(
  { key, current }: HookedRow,
  values: ReadonlyMap<ColumnInfo, unknown>,
  write: WriteCall,
): Promise<ReadonlyMap<ColumnInfo, unknown>> {
  const { resource } = write;
  const { hooks } = resource;
  if (hooks.onBeforeUpdate === undefined) return values;
  const patch = toHookObject(values);
  const given = [...values].flatMap(([column, value]) =>
    value instanceof EchoedValue ? [{ column, value, text: writeJson(valueForHook(value)) }] : []
  );
  const changed = await runBeforeHook(
    write,
    (context) => hooks.onBeforeUpdate?.(withCurrent(context, current), rowId(key), patch),
  );
  const data = { ...changed ?? patch };
  // In a PUT, the database sets the default of some columns. Hooks do not see these columns.
  const kept = [...values].filter(([, value]) => value === databaseDefault);
  for (const { column, value, text } of given) {
    if (!Object.hasOwn(data, column.name) || writeJson(data[column.name]) !== text) continue;
    kept.push([column, value]);
    delete data[column.name];
  }
  const hooked = new Map([...kept, ...parseHookValues(data, resource)]);
  return withoutKey(hooked, key, resource);
}

export async function beforeUpdateItem(
  item: KeyedItem & { readonly current: Row },
  write: WriteCall,
): Promise<KeyedItem> {
  const { key, current, values } = item;
  return { ...item, values: await beforeUpdate({ key, current: () => current }, values, write) };
}

export async function beforeDelete({ key, current }: HookedRow, write: WriteCall): Promise<void> {
  const { hooks } = write.resource;
  if (hooks.onBeforeDelete === undefined) return;
  await runBeforeHook(
    write,
    (context) => hooks.onBeforeDelete?.(withCurrent(context, current), rowId(key)),
  );
}

function withCurrent(context: HookContext, current: ReadCurrent): StoredRowContext<Row> {
  return { ...context, current: async () => await current() };
}

export async function afterWrite(
  name: "onAfterCreate" | "onAfterUpdate",
  row: Row,
  write: WriteCall,
  connection: WriteConnection,
): Promise<void> {
  const { hooks } = write.resource;
  if (hooks[name] === undefined) return;
  await runAfterHook(write, connection, (context) => hooks[name]?.(context, copied(row)));
}

export async function afterDelete(
  row: Row,
  write: WriteCall,
  connection: WriteConnection,
): Promise<void> {
  const { hooks, table } = write.resource;
  if (hooks.onAfterDelete === undefined) return;
  await runAfterHook(
    write,
    connection,
    (context) => hooks.onAfterDelete?.(context, rowId(keyOf(row, table)), copied(row)),
  );
}

function runAfterHook<T>(
  write: WriteCall,
  connection: WriteConnection,
  hook: (context: HookContext) => MaybePromise<T>,
): Promise<T> {
  const { driver, sqlPlans } = write.resource;
  const db = transactionHandle(connection, driver.dialect, sqlPlans);
  return runHook(write, { db, ...apiForHandler(write, connection.joined(driver)) }, hook);
}

function runBeforeHook<T>(
  write: WriteCall,
  hook: (context: HookContext) => MaybePromise<T>,
): Promise<T> {
  return runHook(write, { db: write.resource.db, ...apiForHandler(write) }, hook);
}

function runHook<T>(
  { resource, request, user }: WriteCall,
  means: Pick<HookContext, "db" | "api" | "isSystem">,
  hook: (context: HookContext) => MaybePromise<T>,
): Promise<T> {
  const { name, url, runtime, hookTimeoutMs } = resource;
  const context = { ...means, user, request: request.raw, resource: { name, url } };
  const tooLate = () => new Error(`A hook took longer than ${hookTimeoutMs} ms`);
  return deadline(hookTimeoutMs, runtime.clock, tooLate).within(Promise.try(hook, context));
}

/** Copies a row and its JSON documents, so that changes by a hook do not affect the response. */
function copied(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, copiedValue(value)]));
}

function copiedValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copiedValue);
  if (typeof value !== "object" || value === null) return value;
  // Exact numbers and bytes are never changed in place, so they need no copy.
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, copiedValue(member)]),
  );
}

function rowId(key: Key): RowId {
  // The values of a primary key are strings and numbers: `parseKey` or the database created them.
  return (key.length === 1 ? key[0] : key) as RowId;
}
