import { reachesTable } from "../../filter/related_terms.ts";
import { relatedToOthers, usesColumn } from "../../filter/related_to_others.ts";
import type { Connection } from "../../db/driver.ts";
import { type Key, keyId, keyOf, keysFilter } from "../../plan/key.ts";
import type { Assignments } from "../../plan/plan.ts";
import type { BodyPath, WriteCall } from "../model/operation.ts";
import { readByKeys } from "./read_rows_to_write.ts";
import { outsideScope } from "./row_target.ts";
import { equalsStoredValue } from "./values/echoed_values.ts";
import type { LockedRow } from "./write_matching_rows.ts";
import { atBodyPath, wholeBody } from "./values/body_path.ts";

/** The maximum number of new rows for which one statement checks the scope. */
export const maxComparedRows = 100;

/**
 * Requires that new rows are within a scope whose relations lead back to their table, e.g. the
 * scope of memberships. A new row counts as a related row only after it has been permitted itself.
 * Otherwise a user could create the membership that permits its own creation. Throws a 403, which
 * rolls back.
 */
export async function requireNewRows(
  { grant, resource }: WriteCall,
  keys: readonly Key[],
  connection: Connection,
  bodyPaths: readonly BodyPath[],
): Promise<void> {
  const { table } = resource;
  for (let left = keys; left.length > 0;) {
    const where = relatedToOthers(grant.rows, table, keysFilter(left, table));
    const what = { keys: left, where, columns: table.primaryKey };
    const within = await readByKeys(what, resource, connection);
    const [first, ...others] = left.filter((key) => !within.has(keyId(key, table)));
    if (first === undefined) return;
    if (within.size === 0) {
      throw atBodyPath(outsideScope(grant.access), bodyPaths[keys.indexOf(first)] ?? wholeBody);
    }
    left = [first, ...others];
  }
}

/**
 * Requires of updated rows what {@link requireNewRows} requires of new rows: a changed membership
 * must not permit its own change. Only rows are checked in which a column of the scope changes. A
 * column that was not read counts as changed.
 */
export async function requireChangedRows(
  updates: readonly LockedRow<Assignments>[],
  write: WriteCall,
  connection: Connection,
  bodyPaths: readonly BodyPath[] = [],
): Promise<void> {
  const { grant: { rows }, resource: { table } } = write;
  if (!reachesTable(rows, table)) return;
  const changed = updates.flatMap(({ current, values }, index) =>
    [...values].some(([column, value]) =>
        usesColumn(rows, column) && !equalsStoredValue(value, current[column.name])
      )
      ? [{ key: keyOf(current, table), bodyPath: bodyPaths[index] ?? wholeBody }]
      : []
  );
  const keys = changed.map(({ key }) => key);
  await requireNewRows(write, keys, connection, changed.map(({ bodyPath }) => bodyPath));
}
