import type { ColumnInfo, DatabaseType } from "../../../schema/table_info.ts";
import { columnOf, type Fragment, rawSql, sql } from "../../../sql/fragment.ts";

/**
 * Returns the operand of a column whose Postgres type no kind describes: a cast to the type if it
 * can be ordered, else a cast to text. Except for a domain, the cast has no effect, so indexes
 * still apply.
 */
export function comparedByType(
  { ordered, sqlName }: DatabaseType,
  column: ColumnInfo,
  row?: Fragment,
): Fragment {
  const name = columnOf(column, row);
  return ordered ? sql`${name}${rawSql(`::${sqlName}`)}` : textOfType(name, column);
}

/** Returns the cast of a bound string that is compared with {@link comparedByType}. */
export function castToType({ ordered, sqlName }: DatabaseType): Fragment {
  return rawSql(ordered ? `::${sqlName}` : "::text");
}

/** Returns the text of a column whose Postgres type no kind describes, as a row shows it. */
export function textOfType(name: Fragment, column: ColumnInfo): Fragment {
  // A cast of `inet` to text appends the network length even if a row would not show it.
  return column.databaseType?.sqlName === inet ? sql`abbrev(${name})` : sql`${name}::text`;
}

const inet = '"pg_catalog"."inet"';
