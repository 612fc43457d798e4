import type { ColumnInfo } from "../../schema/table_info.ts";

/** The values of a row by column, as a write gives them. */
export type RowValues = ReadonlyMap<ColumnInfo, unknown>;
