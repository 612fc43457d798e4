import { writeJson } from "../../../schema/exact_json.ts";
import { isAny } from "../../../schema/structured/structured_value.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { ListNames } from "../../../sql/dialect.ts";
import { type Fragment, join, rawSql, sql, type SqlValue } from "../../../sql/fragment.ts";
import { affinityOf } from "./column_type.ts";

/** Returns a table expression of keys, as `listed` of a dialect requires. */
export function keysAsTable(
  keys: readonly (readonly SqlValue[])[],
  columns: readonly ColumnInfo[],
  others: readonly ColumnInfo[],
  { ordinal, values }: ListNames,
): Fragment {
  const isLone = values.length === 1;
  const cells = values.map((name, index) =>
    isLone ? sql`value AS ${name}` : sql`json_extract(value, ${rawSql(`'$[${index}]'`)}) AS ${name}`
  );
  const compared = columns.some(isAny) ? keys.map((key) => comparable(key, columns, others)) : keys;
  const items = writeJson(isLone ? compared.map(([value]) => value) : compared);
  return sql`(SELECT key AS ${ordinal}, ${join(cells, ", ")} FROM json_each(${items}))`;
}

/** Converts numbers in a key to strings, if the column with which they are compared has strings. */
function comparable(
  key: readonly SqlValue[],
  columns: readonly ColumnInfo[],
  others: readonly ColumnInfo[],
): readonly SqlValue[] {
  const affinityAt = (list: readonly ColumnInfo[], index: number) => {
    const column = list[index];
    return column === undefined ? null : affinityOf(column);
  };
  return key.map((value, index) =>
    (typeof value === "number" || typeof value === "bigint") &&
      affinityAt(columns, index) !== "BLOB" && affinityAt(others, index) === "TEXT"
      ? String(value)
      : value
  );
}
