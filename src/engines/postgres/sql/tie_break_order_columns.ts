import type { ColumnInfo } from "../../../schema/table_info.ts";
import { type Fragment, identifier, join, sql } from "../../../sql/fragment.ts";
import { postgresKinds } from "./postgres_kinds.ts";

/**
 * Returns the last columns of an ORDER BY in Postgres, with which only identical rows sort as
 * equal. Columns without an order are hashed. So are columns in which different strings can be
 * equal, like `1.0` and `1.00`.
 */
export function tieBreakOrderColumns(
  columns: readonly ColumnInfo[],
  ordered: ReadonlySet<ColumnInfo>,
): readonly Fragment[] {
  const rest = columns.filter((column) => !ordered.has(column) || !isStrict(column));
  const names = join(rest.map(({ dbName }) => identifier(dbName)), ", ");
  return rest.length === 0 ? [] : [sql`md5(ROW(${names})::text)`];
}

function isStrict({ kind, databaseType, looseCollation }: ColumnInfo): boolean {
  return postgresKinds[kind].isStrict && databaseType === undefined && !looseCollation;
}
