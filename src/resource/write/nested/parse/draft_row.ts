import type { ColumnInfo } from "../../../../schema/table_info.ts";
import type { EmbeddedRows, ForeignKeySource, NestedRow } from "../nested_rows.ts";
import type { BodyPart } from "./parse_relation.ts";

/** The part of a body from which a row is parsed, and the sources of its foreign keys. */
export interface RowSource extends BodyPart {
  readonly foreignKeySources?: readonly ForeignKeySource[];
}

/** A row that is partly parsed, and the values of its body under the names of relations. */
export interface DraftRow extends NestedRow {
  readonly given: Map<ColumnInfo, unknown>;
  readonly foreignKeySources: ForeignKeySource[];
  readonly embedded: EmbeddedRows[];
  readonly nested: ReadonlyMap<string, unknown>;
  /** True if the row is created. */
  readonly isNew: boolean;
}
