import type { Connection } from "../../db/driver.ts";
import { and, type Filter } from "../../filter/filter.ts";
import { chunksOf, type Key, keysFilter } from "../../plan/key.ts";
import type { DeletePlan, UpdatePlan } from "../../plan/plan.ts";
import { instantOf } from "../../schema/instant.ts";
import type { Resource } from "../define/resource.ts";
import type { WriteCall } from "../operation.ts";
import type { WriteConnection } from "./in_transaction.ts";
import { keysPerStatement } from "./read_rows_to_write.ts";
import { lockTarget, type RowTarget, targetNotWritten, writableTarget } from "./row_target.ts";
import { sameVersion } from "./row_version.ts";
import { afterDelete } from "./run_hooks.ts";

/**
 * Deletes the row that a request names, or marks it deleted, and runs the after-hook. Throws a 404,
 * 403 or 412 as an update does.
 */
export async function deleteRow(
  target: RowTarget,
  write: WriteCall,
  connection: WriteConnection,
): Promise<void> {
  const { resource } = write;
  const current = target.precondition === null ? null : await lockTarget(target, write, connection);
  const where = and(writableTarget(target, write), sameVersion(current, resource));
  if (await runDelete(where, resource, connection) === 0) {
    throw await targetNotWritten(target, current, write, connection);
  }
  connection.noteWritten([target.key], resource);
  await afterDelete(target.key, write, connection);
}

/** Deletes locked rows, or marks them deleted, runs the after-hooks and gives the rows' number. */
export async function deleteLockedRows(
  keys: readonly Key[],
  write: WriteCall,
  connection: WriteConnection,
): Promise<number> {
  const { resource } = write;
  let count = 0;
  for (const some of chunksOf(keys, keysPerStatement(resource))) {
    count += await runDelete(keysFilter(some, resource.table), resource, connection);
  }
  connection.noteWritten(keys, resource);
  for (const key of keys) await afterDelete(key, write, connection);
  return count;
}

async function runDelete(
  where: Filter,
  resource: Resource,
  connection: Connection,
): Promise<number> {
  const statement = resource.reader.compile(deletePlan(where, resource));
  return (await connection.query(statement)).changed;
}

function deletePlan(
  where: Filter,
  { softDelete, table, runtime }: Resource,
): DeletePlan | UpdatePlan {
  if (softDelete === null) return { kind: "delete", table, where };
  const set = new Map([[softDelete.field, softDelete.mark(instantOf(runtime.clock.now()))]]);
  return { kind: "update", table, where, set, returning: [] };
}
