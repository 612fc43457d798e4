import { assert, assertEquals } from "@std/assert";
import type { Change, ChangeLog } from "../../src/db/changes/change_log.ts";
import type { Position } from "../../src/db/changes/log_position.ts";
import {
  type ChangesOptions,
  resolveChangesOptions,
} from "../../src/db/changes/changes_options.ts";
import { openChangeLog } from "../../src/db/changes/open_change_log.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { tableInfoOf, type TableLike } from "../../src/schema/table_like.ts";
import type { TableInfo } from "../../src/schema/table_info.ts";
import type { Database } from "../../src/db/database.ts";

/** The system's runtime, whose observations are dropped. */
export const runtime = systemRuntime(() => {});

/** Opens the log of a database for some of its tables. */
export function openLog(
  db: Database,
  tables: readonly (TableLike<unknown, unknown> | TableInfo)[],
  options: ChangesOptions = {},
): Promise<ChangeLog> {
  const infos = tables.map((table) => isInfo(table) ? table : tableInfoOf(table));
  return openChangeLog({
    driver: db.driver,
    tables: infos,
    changes: resolveChangesOptions(options),
    runtime,
  });
}

function isInfo(table: TableLike<unknown, unknown> | TableInfo): table is TableInfo {
  return "byName" in table;
}

/** All changes after a position, and the position after them. */
export async function readOn(
  log: ChangeLog,
  from: Position,
): Promise<{ readonly changes: readonly Change[]; readonly to: Position }> {
  const changes: Change[] = [];
  for (let position = from;;) {
    let step = await log.next(position);
    assert(step !== null, "history is lost");
    const length = changes.length;
    changes.push(...step.changes);
    while (step.to === null) {
      step = await log.next(step);
      assert(step !== null, "history is lost");
      changes.push(...step.changes);
    }
    position = step.to;
    if (changes.length === length) return { changes, to: position };
  }
}

/** Runs `work` and gives its changes in the log. */
export async function changesOf(
  log: ChangeLog,
  work: () => Promise<unknown>,
): Promise<readonly Change[]> {
  const from = await log.end();
  await work();
  return (await readOn(log, from)).changes;
}

/** Changes as short data: the kind, and the rows before and after. */
export function kindsAndRows(changes: readonly Change[]): unknown[] {
  return changes.map(({ kind, before, after }) => [kind, before, after]);
}

/** Compares the changes of `work` with a list of kinds and rows. */
export async function assertChanges(
  log: ChangeLog,
  work: () => Promise<unknown>,
  expected: readonly unknown[],
): Promise<void> {
  assertEquals(kindsAndRows(await changesOf(log, work)), [...expected]);
}
