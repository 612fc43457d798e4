import type { ColumnInfo } from "../schema/table_info.ts";

/** The part of a dialect for the statements that create tables. */
export interface DefinitionDialect {
  /** The words after its type that make a column count up, or none if integer keys count up. */
  readonly identity: readonly string[];
  /** Returns the expression of a generated column, whose values are the same on every engine. */
  generatedValue(column: ColumnInfo, given: string): string;
  /** Returns the literal of these bytes, which are given as hexadecimal digits. */
  bytesLiteral(hex: string): string;
}
