import type { ColumnKind } from "../../../schema/kind.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import { type Fragment, identifier, join, sql } from "../../../sql/fragment.ts";

/**
 * What follows ORDER BY in SQL of Postgres, so that only rows are equal that are the same: a hash of the
 * columns whose values may be equal and have different strings, like `1.0` and `1.00`, or have no
 * order.
 */
export function distinguished(
  columns: readonly ColumnInfo[],
  ordered: ReadonlySet<ColumnInfo>,
): readonly Fragment[] {
  const rest = columns.filter((column) => !ordered.has(column) || !isStrict(column));
  const names = join(rest.map(({ dbName }) => identifier(dbName)), ", ");
  return rest.length === 0 ? [] : [sql`md5(ROW(${names})::text)`];
}

/** Returns true if values of the column are equal only where they are the same. */
function isStrict({ kind, databaseType, looseCollation }: ColumnInfo): boolean {
  return strictKinds.has(kind) && databaseType === undefined && !looseCollation;
}

const strictKinds: ReadonlySet<ColumnKind> = new Set([
  ...["integer", "bigint", "boolean", "timestamp", "date", "uuid", "text"] as const,
]);
