import type { Key } from "../plan/key.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { Dialect, ListNames } from "../sql/dialect.ts";
import { type Fragment, identifier, join, sql } from "../sql/fragment.ts";
import { matchKeyColumn, matchRankColumn } from "../sql/match_names.ts";

/**
 * Returns a SELECT of keys that an engine has found, in the form of `LocalIndex.matches`. A key's
 * rank is its place in the list. The statement binds all keys as one value.
 */
export function selectCandidateKeys(
  keys: readonly Key[],
  { primaryKey }: TableInfo,
  dialect: Dialect,
): Fragment {
  const names: ListNames = {
    list: identifier("_list"),
    ordinal: identifier("_at"),
    values: primaryKey.map((_column, index) => identifier(`_value${index}`)),
    rank: identifier("_rank"),
  };
  const encoded = keys.map((key) =>
    primaryKey.map((column, index) => dialect.encode(key[index], column))
  );
  const selected = names.values.map((value, index) => sql`${value} AS ${matchKeyColumn(index)}`);
  return sql`SELECT ${join(selected, ", ")}, ${names.ordinal} AS ${matchRankColumn} FROM ${
    dialect.listed(encoded, primaryKey, primaryKey, names)
  } AS ${names.list}`;
}
