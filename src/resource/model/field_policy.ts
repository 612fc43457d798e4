import type { ColumnInfo } from "../../schema/table_info.ts";

/**
 * The part of a resolved resource that says which columns are readable, writable, filterable and
 * sortable.
 */
export interface FieldPolicy {
  /** In the table's order. */
  readonly readable: readonly ColumnInfo[];
  readonly writable: ReadonlySet<ColumnInfo>;
  /** No body changes them after the row was created; the key is none of them. */
  readonly immutable: ReadonlySet<ColumnInfo>;
  readonly filterable: ReadonlySet<ColumnInfo>;
  readonly sortable: ReadonlySet<ColumnInfo>;
}
