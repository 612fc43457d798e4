import type { ColumnInfo } from "../table_info.ts";
import type { DrizzleColumn } from "./drizzle_structure.ts";

/** The members of a column's description that follow from its Drizzle type. */
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
>;

/** The common properties of Drizzle's tables for one engine. */
export interface DrizzleDialect {
  /** The name of the engine, as in the dialects of databases. */
  readonly engine: string;
  /** Returns the type of a column. Throws an `UnservableColumn` if it cannot be served. */
  typeOf(column: DrizzleColumn): DrizzleType;
  /** True if the columns of a primary key are never NULL. */
  readonly hasWholeKeys: boolean;
  /** Returns true if the database generates the column's values; `isKey` if it is the only key. */
  isAssigned(column: DrizzleColumn, isKey: boolean): boolean;
}
