import type { ColumnInfo } from "../schema/table_info.ts";

/** The part of a dialect for CREATE TABLE statements. */
export interface DefinitionDialect {
  /** The keywords after the type of an auto-increment column. Empty if the engine needs none. */
  readonly identity: readonly string[];
  /** Returns the expression of a generated column in a form with equal values on every engine. */
  generatedValue(column: ColumnInfo, given: string): string;
  /** Returns the literal of bytes, which `hex` contains as hexadecimal digits. */
  bytesLiteral(hex: string): string;
}
