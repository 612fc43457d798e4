import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { Driver } from "../driver.ts";
import type { DatabaseError } from "../database_error.ts";

/** The values of a row by column, as a write gives them. */
export type RowValues = ReadonlyMap<ColumnInfo, unknown>;

/** What is known of a write that a constraint refused. */
export interface RefusedWrite {
  readonly table: TableInfo;
  /** The values that it would have stored, where they are known. */
  readonly values: RowValues | null;
  readonly driver: Driver;
}

/** How an engine names the columns of a constraint that refused a write. */
export interface ConstraintsEngine {
  /** Returns their names in the database; none if the engine does not say which constraint it is. */
  columnsOf(error: DatabaseError, write: RefusedWrite): Promise<readonly string[]>;
}
