import type { ColumnInfo } from "../schema/table_info.ts";

/** The part of a dialect for CREATE TABLE statements. */
export interface DefinitionDialect {
  /** The keywords after the type of an auto-increment column. Empty if the engine needs none. */
  readonly identity: readonly string[];
  /** Returns a generated column's expression, changed so that its values agree on all engines. */
  generatedValue(column: ColumnInfo, given: string): string;
  /** Returns the literal of bytes, which `hex` contains as hexadecimal digits. */
  bytesLiteral(hex: string): string;
}
