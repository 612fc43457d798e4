import type { ColumnInfo, Row } from "../schema/table_info.ts";

/** The virtual fields of a resource. */
export interface Computed {
  readonly fields: readonly (readonly [name: string, compute: (row: Row) => unknown])[];
  /** Told of a function that threw: its field is null. */
  failed(field: string, error: unknown): void;
}

/** What an answer shows of its rows. */
export interface View {
  /** Taken from the readable columns by `parseSelect`. */
  readonly visible: readonly ColumnInfo[];
  readonly computed: Computed;
  /** What is shown under the rows; nothing unless given. */
  readonly related?: RelatedRows | undefined;
}

/** The related rows to show under each row, known by its identity. */
export type RelatedRows = ReadonlyMap<Row, readonly ShownRows[]>;

/** Related rows under the name of their relation; null is nobody where there is one at most. */
export interface ShownRows {
  readonly name: string;
  readonly rows: readonly Row[] | Row | null;
  /** The columns they were read with. */
  readonly read: readonly ColumnInfo[];
  readonly view: View;
}

/** The columns to read for a view: virtual fields are made from the whole row. */
export function columnsOf(view: View, whole: readonly ColumnInfo[]): readonly ColumnInfo[] {
  return view.computed.fields.length > 0 ? whole : view.visible;
}

/**
 * The only door for rows: list, get and writes all answer through it, so that masking cannot be
 * forgotten. Rows that were read with the columns `read` come out with exactly the visible ones
 * and the virtual fields.
 */
export function presentRows(
  rows: readonly Row[],
  read: readonly ColumnInfo[],
  view: View,
): readonly Row[] {
  // Most lists show what they read: then there is nothing to take away and nothing to add.
  return isShownAsRead(read, view) ? rows : rows.map((row) => present(row, view));
}

/** The same for one row. */
export function presentRow(row: Row, read: readonly ColumnInfo[], view: View): Row {
  return isShownAsRead(read, view) ? row : present(row, view);
}

function isShownAsRead(read: readonly ColumnInfo[], view: View): boolean {
  const { visible, computed, related } = view;
  if (related !== undefined && related.size > 0) return false;
  if (computed.fields.length > 0 || read.length !== visible.length) return false;
  return read === visible || read.every((column, index) => column === visible[index]);
}

function present(row: Row, { visible, computed, related }: View): Row {
  const shown: Record<string, unknown> = {};
  for (const { name } of visible) shown[name] = row[name];
  for (const [name, compute] of computed.fields) {
    try {
      shown[name] = compute(row) ?? null;
    } catch (error) {
      computed.failed(name, error);
      shown[name] = null;
    }
  }
  for (const { name, rows, read, view } of related?.get(row) ?? []) {
    shown[name] = isList(rows)
      ? presentRows(rows, read, view)
      : rows && presentRow(rows, read, view);
  }
  return shown;
}

function isList(rows: ShownRows["rows"]): rows is readonly Row[] {
  return Array.isArray(rows);
}
