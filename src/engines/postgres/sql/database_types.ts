import type { ColumnInfo, DatabaseType } from "../../../schema/table_info.ts";
import { columnOf, type Fragment, rawSql, sql } from "../../../sql/fragment.ts";

/**
 * A column of a Postgres type that no kind stands for, as it is compared: as its type where that has
 * an order, else as its text. The cast says nothing new, but of a domain: an index serves all the
 * same.
 */
export function comparedByType(
  { ordered, sqlName }: DatabaseType,
  column: ColumnInfo,
  row?: Fragment,
): Fragment {
  const name = columnOf(column, row);
  return ordered ? sql`${name}${rawSql(`::${sqlName}`)}` : textOfType(name, column);
}

/** The cast of a bound text beside {@link comparedByType} in SQL of Postgres. */
export function castToType({ ordered, sqlName }: DatabaseType): Fragment {
  return rawSql(ordered ? `::${sqlName}` : "::text");
}

/** The text of such a column in Postgres, as a row shows it. */
export function textOfType(name: Fragment, column: ColumnInfo): Fragment {
  // A cast would add the length of the network, which the type itself leaves out where it is whole.
  return column.databaseType?.sqlName === inet ? sql`abbrev(${name})` : sql`${name}::text`;
}

const inet = '"pg_catalog"."inet"';
