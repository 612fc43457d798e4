import type { TableInfo } from "../schema/table_info.ts";
import { type Fragment, identifier, sql } from "../sql/fragment.ts";

/** A table as it is written after FROM and INTO. */
export function tableName(table: TableInfo): Fragment {
  return table.schema === null
    ? identifier(table.name)
    : sql`${identifier(table.schema)}.${identifier(table.name)}`;
}
