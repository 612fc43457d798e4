import type { ColumnInfo } from "../table_info.ts";
import type { DrizzleColumn } from "./drizzle_structure.ts";

/** The part of a column's description that its Drizzle type determines. */
export type DrizzleType = Pick<
  ColumnInfo,
  | "kind"
  | "precision"
  | "scale"
  | "maxLength"
  | "enumValues"
  | "existingType"
  | "timestampFormat"
  | "databaseType"
  | "converted"
>;

/** The difference between Drizzle's tables for SQLite and for Postgres. */
export interface DrizzleDialect {
  /** Name of the engine, as in the database dialects. */
  readonly engine: string;
  /** Returns the type of a column. Throws an `InvalidValue` for an unsupported type. */
  typeOf(column: DrizzleColumn): DrizzleType;
  /** True if this engine never has NULL in a primary key. */
  readonly hasWholeKeys: boolean;
  /** Returns true if the database generates values. `isKey` is true for the only key column. */
  isAssigned(column: DrizzleColumn, isKey: boolean): boolean;
}
