import type { ColumnInfo, DatabaseType } from "../../../schema/table_info.ts";
import { columnOf, type Fragment, rawSql, sql } from "../../../sql/fragment.ts";

/**
 * Returns the operand of a column whose Postgres type has no column kind: a cast to the type if it
 * can be ordered, else to text. Except for a domain, the cast has no effect, so indexes apply.
 */
export function operandOfType(
  { ordered, sqlName }: DatabaseType,
  column: ColumnInfo,
  row?: Fragment,
): Fragment {
  const name = columnOf(column, row);
  return ordered ? sql`${name}${rawSql(`::${sqlName}`)}` : textOfType(name, column);
}

/** Returns SQL that casts a bound string to the form of {@link operandOfType}. */
export function castToType({ ordered, sqlName }: DatabaseType): Fragment {
  return rawSql(ordered ? `::${sqlName}` : "::text");
}

/** Returns a column whose type has no column kind, as the text that the service returns. */
export function textOfType(name: Fragment, column: ColumnInfo): Fragment {
  // Unlike the usual output of `inet`, a cast to text always appends the network length.
  return column.databaseType?.sqlName === inet ? sql`abbrev(${name})` : sql`${name}::text`;
}

const inet = '"pg_catalog"."inet"';
