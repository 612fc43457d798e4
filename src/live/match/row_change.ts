import type { Change } from "../../db/changes/change_log.ts";
import type { RowImage } from "../../filter/match/row_matches.ts";
import { allColumns, type ColumnMask, differingColumns } from "./matcher.ts";
import { type Key, keyId, keyOf } from "../../plan/key.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";

/** A change of one row: one recorded change, or several consecutive changes combined. */
export interface RowChange {
  readonly seq: number;
  readonly before: RowImage | null;
  readonly after: RowImage | null;
  /** The columns whose values differ. A filter that reads no such column keeps its result. */
  readonly changed: ColumnMask;
  /** The row images between `before` and `after`, if several changes were combined. */
  readonly between: readonly RowImage[];
  readonly optimisticId: string | null;
}

/** A row change for a client whose query matches the row before the change, after it, or both. */
export interface Transition {
  readonly kind: "added" | "changed" | "removed";
  readonly rowChange: RowChange;
}

/** Returns a change's row changes: two for a changed key, which remove and add the row. */
export function rowChangesOf(change: Change): readonly RowChange[] {
  const { seq, optimisticId, table } = change;
  const before = change.before === null ? null : { row: change.before };
  const after = change.after === null ? null : { row: change.after };
  if (before === null || after === null || haveSameKey(before.row, after.row, table)) {
    const isMoved = before === null || after === null;
    const changed = isMoved ? allColumns : differingColumns(before.row, after.row, table);
    return [{ seq, before, after, changed, between: nothing, optimisticId }];
  }
  return [
    { seq, before, after: null, changed: allColumns, between: nothing, optimisticId: null },
    { seq, before: null, after, changed: allColumns, between: nothing, optimisticId },
  ];
}

export function unchangedRow(row: Row, seq: number): RowChange {
  const image = { row };
  return { seq, before: image, after: image, changed: 0, between: nothing, optimisticId: null };
}

/** Combines all changes of each row into one, in the order of the rows' last changes. */
export function netRowChanges(
  rowChanges: readonly RowChange[],
  table: TableInfo,
): readonly RowChange[] {
  const byRow = new Map<string, RowChange>();
  for (const rowChange of rowChanges) {
    const id = keyId(rowChangeKey(rowChange, table), table);
    const earlier = byRow.get(id);
    // Deletes the entry first, so that the row moves to the place of its last change.
    byRow.delete(id);
    byRow.set(id, earlier === undefined ? rowChange : combined(earlier, rowChange));
  }
  return [...byRow.values()];
}

export function transitionKind(before: boolean, after: boolean): Transition["kind"] | null {
  if (after) return before ? "changed" : "added";
  return before ? "removed" : null;
}

export function rowChangeKey({ before, after, between }: RowChange, table: TableInfo): Key {
  // A row that these changes inserted and deleted has images only in `between`.
  const image = after ?? before ?? between[0];
  if (image === undefined) throw new Error("A row change without an image has no key");
  return keyOf(image.row, table);
}

const nothing: readonly RowImage[] = Object.freeze([]);

function haveSameKey(before: Row, after: Row, table: TableInfo): boolean {
  // Keys rarely change, and comparing their values is faster than creating two ids.
  if (table.primaryKey.every(({ name }) => before[name] === after[name])) return true;
  return keyId(keyOf(before, table), table) === keyId(keyOf(after, table), table);
}

function combined(earlier: RowChange, later: RowChange): RowChange {
  const joint = [earlier.after, later.before].filter((image) => image !== null);
  return {
    seq: later.seq,
    before: earlier.before,
    after: later.after,
    changed: allColumns,
    between: [...earlier.between, ...joint, ...later.between],
    optimisticId: later.optimisticId ?? earlier.optimisticId,
  };
}
