import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { Driver } from "../driver.ts";

/** The parts of one table that a database hides from the service's role. */
export interface RoleLimits {
  readonly role: string;
  /** True if policies decide which rows the role sees. */
  readonly hidesRows: boolean;
  /** True if the statistics of the database count only rows that the role sees. */
  readonly mayEstimate: boolean;
  readonly unreadable: readonly ColumnInfo[];
}

/** A protected table whose rows another table or view shows although no policy restricts the role. */
export interface PolicyBypass {
  readonly role: string;
  /** The name of the protected table. */
  readonly of: string;
  /** The reason as a clause, or null if the protected table is the served table itself. */
  readonly why: string | null;
}

/** The roles of an engine: the users of a database, with rights of their own. */
export interface RolesEngine {
  limits(driver: Driver, tables: readonly TableInfo[]): Promise<ReadonlyMap<TableInfo, RoleLimits>>;
  /** Reads the policies that do not apply to the role in these tables. */
  bypasses(
    driver: Driver,
    tables: readonly TableInfo[],
  ): Promise<ReadonlyMap<TableInfo, readonly PolicyBypass[]>>;
}
