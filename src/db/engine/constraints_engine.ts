import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { Driver } from "../driver.ts";
import type { DatabaseError } from "../database_error.ts";

/** The values of a row by column, as a write contains them. */
export type RowValues = ReadonlyMap<ColumnInfo, unknown>;

/** The known properties of a write that a constraint rejected. */
export interface RefusedWrite {
  readonly table: TableInfo;
  /** The values that the write would have stored, or null if the values are unknown. */
  readonly values: RowValues | null;
  readonly driver: Driver;
}

/** Finds the columns of a constraint that rejected a write. */
export interface ConstraintsEngine {
  /** Returns the columns' database names, or none if the engine does not name the constraint. */
  columnsOf(error: DatabaseError, write: RefusedWrite): Promise<readonly string[]>;
}
