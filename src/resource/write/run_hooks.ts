import type { Key } from "../../plan/key.ts";
import { databaseDefault } from "../../plan/plan.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { rowId, runHook, type WriteCall } from "../operation_call.ts";
import { parseHookValues, toRecord } from "./parse_fields.ts";
import type { RowTarget } from "./row_target.ts";
import { lockTarget } from "./update_row.ts";

/** The values of a new row, after the before-hook had its say. */
export async function beforeCreate(
  values: ReadonlyMap<ColumnInfo, unknown>,
  write: WriteCall,
): Promise<ReadonlyMap<ColumnInfo, unknown>> {
  const { hooks, driver } = write.resource;
  if (hooks.onBeforeCreate === undefined) return values;
  const data = toRecord(values);
  const changed = await runHook(
    write,
    driver,
    (context) => hooks.onBeforeCreate?.(context, data),
  );
  return parseHookValues(changed ?? data, write.resource);
}

/**
 * The values of a change, after the before-hook had its say. It runs only for a row that the
 * caller may change, in the state that the caller expects.
 */
export async function beforeUpdate(
  target: RowTarget,
  values: ReadonlyMap<ColumnInfo, unknown>,
  write: WriteCall,
): Promise<ReadonlyMap<ColumnInfo, unknown>> {
  if (write.resource.hooks.onBeforeUpdate === undefined) return values;
  await requireTarget(target, write);
  return await hookedUpdate(target.key, values, write);
}

/** The same for a row that was looked at already. */
export async function hookedUpdate(
  key: Key,
  values: ReadonlyMap<ColumnInfo, unknown>,
  write: WriteCall,
): Promise<ReadonlyMap<ColumnInfo, unknown>> {
  const { hooks, driver } = write.resource;
  if (hooks.onBeforeUpdate === undefined) return values;
  const patch = toRecord(values);
  const changed = await runHook(
    write,
    driver,
    (context) => hooks.onBeforeUpdate?.(context, rowId(key), patch),
  );
  // What a PUT leaves to the database is no value that a hook could see or return.
  const left = [...values].filter(([, value]) => value === databaseDefault);
  return new Map([...left, ...parseHookValues(changed ?? patch, write.resource)]);
}

/** The same for a row that is to be deleted. */
export async function beforeDelete(target: RowTarget, write: WriteCall): Promise<void> {
  if (write.resource.hooks.onBeforeDelete === undefined) return;
  await requireTarget(target, write);
  await hookedDelete(target.key, write);
}

/** The same for a row that was looked at already. */
export async function hookedDelete(key: Key, write: WriteCall): Promise<void> {
  const { hooks, driver } = write.resource;
  await runHook(write, driver, (context) => hooks.onBeforeDelete?.(context, rowId(key)));
}

/** Looked at once more, and then locked, in the transaction: this spares the hook what must fail. */
async function requireTarget(target: RowTarget, write: WriteCall): Promise<void> {
  await lockTarget(target, write, write.resource.driver);
}
