import type { ColumnInfo } from "../table_info.ts";
import type { DrizzleColumn } from "./drizzle_structure.ts";

/** What a column of a Drizzle table has from its type, in the words of a description. */
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

/** The common properties of the tables of one engine of Drizzle. */
export interface DrizzleDialect {
  /** The engine, as the dialects of databases call it. */
  readonly engine: string;
  /** The type of a column. Throws an `UnservableColumn` for what cannot be served. */
  typeOf(column: DrizzleColumn): DrizzleType;
  /** True if the columns of a primary key are never NULL. */
  readonly hasWholeKeys: boolean;
  /** Returns true if the database numbers the rows by the column; `isKey` where it alone is the key. */
  isAssigned(column: DrizzleColumn, isKey: boolean): boolean;
}
