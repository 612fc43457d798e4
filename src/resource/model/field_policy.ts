import type { ColumnInfo } from "../../schema/table_info.ts";

/** The resolved lists of readable, writable, filterable and sortable columns of a resource. */
export interface FieldPolicy {
  readonly readable: readonly ColumnInfo[];
  readonly writable: ReadonlySet<ColumnInfo>;
  /** The columns that no body can change after the row was created. Contains no key columns. */
  readonly immutable: ReadonlySet<ColumnInfo>;
  readonly filterable: ReadonlySet<ColumnInfo>;
  readonly sortable: ReadonlySet<ColumnInfo>;
}
