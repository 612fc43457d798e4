import type { ColumnInfo, DatabaseType } from "../../../schema/table_info.ts";
import { columnOf, type Fragment, rawSql, sql } from "../../../sql/fragment.ts";

/** Casts an operand to its type if the type has an order, so that indexes work; else to text. */
export function operandOfType(
  { ordered, sqlName }: DatabaseType,
  column: ColumnInfo,
  row?: Fragment,
): Fragment {
  const name = columnOf(column, row);
  return ordered ? sql`${name}${rawSql(`::${sqlName}`)}` : textOfType(name, column);
}

export function castToType({ ordered, sqlName }: DatabaseType): Fragment {
  return rawSql(ordered ? `::${sqlName}` : "::text");
}

export function textOfType(name: Fragment, column: ColumnInfo): Fragment {
  // abbrev() omits the network length `/32` of an `inet`, which a cast to text appends.
  return column.databaseType?.sqlName === inet ? sql`abbrev(${name})` : sql`${name}::text`;
}

const inet = '"pg_catalog"."inet"';
