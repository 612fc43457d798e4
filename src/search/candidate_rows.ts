import type { Key } from "../plan/key.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { Dialect, ListNames } from "../sql/dialect.ts";
import { type Fragment, identifier, join, sql } from "../sql/fragment.ts";
import { matchKey, matchRank } from "../sql/match_names.ts";

/**
 * The keys that an engine outside of the database has found, as a SELECT like that of
 * `LocalIndex.matches`: their order is the rank. They are bound as one value for each key column.
 */
export function candidateRows(
  keys: readonly Key[],
  { primaryKey }: TableInfo,
  dialect: Dialect,
): Fragment {
  const lists = primaryKey.map((column, index) => {
    const names = namesOf(index);
    const values = keys.map((key) => dialect.encode(key[index], column));
    return { names, from: sql`${dialect.listed(values, column, names)} AS ${names.list}` };
  });
  const selected = lists.map(({ names }, index) => sql`${names.value} AS ${matchKey(index)}`);
  const same = lists.slice(1).map(({ names }) => sql`${names.ordinal} = ${namesOf(0).ordinal}`);
  const from = join(lists.map((list) => list.from), " CROSS JOIN ");
  const select = sql`SELECT ${join(selected, ", ")}, ${
    namesOf(0).ordinal
  } AS ${matchRank} FROM ${from}`;
  return same.length === 0 ? select : sql`${select} WHERE ${join(same, " AND ")}`;
}

function namesOf(index: number): ListNames {
  const name = (part: string) => identifier(`_${part}${index}`);
  return { list: name("list"), ordinal: name("at"), value: name("value"), rank: name("rank") };
}
