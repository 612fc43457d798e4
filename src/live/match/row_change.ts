import type { Change } from "../../db/changes/change_log.ts";
import type { RowImage } from "../../filter/match/row_image.ts";
import { allColumns, type ColumnMask, differingColumns } from "./column_mask.ts";
import { type Key, keyId, keyOf } from "../../plan/key.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";

/** One row before and after: of one change, or of several taken together. */
export interface RowChange {
  /** The number of the change, of several the last one's. */
  readonly seq: number;
  /** Null where the row was not there. */
  readonly before: RowImage | null;
  /** Null where the row is gone. */
  readonly after: RowImage | null;
  /** In which columns they differ: who looks at others only sees no difference. */
  readonly changed: ColumnMask;
  /** What the row was in between, where several were taken together. */
  readonly between: readonly RowImage[];
  /** How the client that created the row calls it. */
  readonly optimisticId: string | null;
}

/** What is told of a passage to those who see the row before, after, or both. */
export interface Transition {
  readonly kind: "added" | "changed" | "removed";
  readonly rowChange: RowChange;
}

/**
 * The passages of a change. A change of the key is two: to a client the row of the old key is gone
 * and another has come.
 */
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

/** A row that is as it was, while something has changed that is shown under it. */
export function unchangedRow(row: Row, seq: number): RowChange {
  const image = { row };
  return { seq, before: image, after: image, changed: 0, between: nothing, optimisticId: null };
}

/**
 * What is left of many passages, one for each row, in the order of their last changes. It serves
 * readers who were away: what a row was in between is nothing that they could still show.
 */
export function netRowChanges(
  rowChanges: readonly RowChange[],
  table: TableInfo,
): readonly RowChange[] {
  const byRow = new Map<string, RowChange>();
  for (const rowChange of rowChanges) {
    const id = keyId(rowChangeKey(rowChange, table), table);
    const earlier = byRow.get(id);
    // The last change decides where a row stands in the order.
    byRow.delete(id);
    byRow.set(id, earlier === undefined ? rowChange : together(earlier, rowChange));
  }
  return [...byRow.values()];
}

/** What somebody is told who saw the row before, or not, and sees it after, or not. */
export function transitionKind(before: boolean, after: boolean): Transition["kind"] | null {
  if (after) return before ? "changed" : "added";
  return before ? "removed" : null;
}

/** The key of the row of a passage. */
export function rowChangeKey({ before, after, between }: RowChange, table: TableInfo): Key {
  // A row that came and went has been something in between.
  const image = after ?? before ?? between[0];
  if (image === undefined) throw new Error("A passage without a row has no key");
  return keyOf(image.row, table);
}

const nothing: readonly RowImage[] = Object.freeze([]);

function haveSameKey(before: Row, after: Row, table: TableInfo): boolean {
  // Keys hardly ever change: comparing the values spares two texts for every change.
  if (table.primaryKey.every(({ name }) => before[name] === after[name])) return true;
  return keyId(keyOf(before, table), table) === keyId(keyOf(after, table), table);
}

function together(earlier: RowChange, later: RowChange): RowChange {
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
