import type { ColumnInfo } from "../schema/table_info.ts";

/** The part of a dialect for the statements that create tables. */
export interface DefinitionDialect {
  /** The keywords after the type of an automatically numbered column. Empty if none are needed. */
  readonly identity: readonly string[];
  /** Returns the expression of a generated column, whose values are the same on every engine. */
  generatedValue(column: ColumnInfo, given: string): string;
  /** Returns the literal of bytes, which `hex` contains as hexadecimal digits. */
  bytesLiteral(hex: string): string;
}
