import type { ColumnInfo, TableInfo } from "../../../schema/table_info.ts";
import { quoteIdentifier, sqlName, type Statement } from "../../../sql/fragment.ts";

/** Raises a sequence to the largest key, or, near the sequence's maximum, to the next free key. */
export function advanceCounter({ dbName }: ColumnInfo, table: TableInfo): Statement {
  const [name, rows] = [quoteIdentifier(dbName), sqlName(table)];
  const largest = `SELECT max(${name}) FROM ${rows}`;
  const beforeFree =
    `SELECT a.${name} FROM ${rows} AS a WHERE a.${name} >= pg_sequence_last_value(s)
    AND NOT EXISTS (SELECT FROM ${rows} AS b WHERE b.${name} = a.${name}::int8 + 1)
    ORDER BY a.${name} LIMIT 1`;
  return {
    text: `SELECT setval(s, CASE WHEN (${largest}) <= least(q.seqmax, ${largestSafe}) / 2
        THEN greatest(pg_sequence_last_value(s), (${largest})) ELSE (${beforeFree}) END)
      FROM (SELECT pg_get_serial_sequence($1, $2)::regclass AS s) AS counter
      JOIN pg_sequence AS q ON q.seqrelid = s WHERE q.seqincrement > 0`,
    values: [sqlName(table), dbName],
  };
}

/** JavaScript rounds larger numbers in JSON. */
const largestSafe = "9007199254740991";
