import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { Driver } from "../driver.ts";

/** The parts of one table that a database hides from the service's role. */
export interface RoleLimits {
  readonly role: string;
  /** True if policies decide which rows the role sees. */
  readonly hidesRows: boolean;
  /** The columns that the role may not read. */
  readonly unreadable: readonly ColumnInfo[];
  /** True if the table has row level security that does not apply to the role. */
  readonly isExempt: boolean;
}

/** The roles of an engine: the users of a database, with rights of their own. */
export interface RolesEngine {
  /** Reads the limits of the role in these tables. */
  limits(driver: Driver, tables: readonly TableInfo[]): Promise<ReadonlyMap<TableInfo, RoleLimits>>;
}
