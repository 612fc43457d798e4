import { type Fragment, identifier, join, rawSql, sql } from "../../../sql/fragment.ts";
import type { DocumentItem, ListDialect } from "../../../sql/list_dialect.ts";
import { toSortableDecimal } from "../../../sql/sortable_decimal.ts";
import { jsonNumberFunction } from "./json_path.ts";

export const sqliteLists: ListDialect = {
  holds({ dbName }, items, quantifier) {
    const document = identifier(dbName);
    // For a string that is not JSON, json_type() would end the statement with an error.
    const list =
      sql`CASE WHEN json_valid(${document}) AND json_type(${document}) = 'array' THEN ${document} END`;
    // The cast is safe: for a JSON column, the operators pass document items.
    const tests = (items as readonly DocumentItem[]).map((item) =>
      sql`EXISTS (SELECT 1 FROM json_each(${list}) AS _item WHERE ${isItem(item, document)})`
    );
    return sql`(${join(tests, quantifier === "all" ? " AND " : " OR ")})`;
  },
  query({ name }) {
    throw new Error(`Cannot search "${name}": SQLite has no columns of words`);
  },
};

function isItem(item: DocumentItem, document: Fragment): Fragment {
  if (typeof item === "boolean") return sql`_item.type = ${String(item)}`;
  if (typeof item === "string") return sql`_item.type = 'text' AND _item.value = ${item}`;
  const number = sql`${rawSql(jsonNumberFunction.name)}(${document} -> _item.fullkey)`;
  return sql`_item.type IN ('integer', 'real') AND ${number} = ${toSortableDecimal(item.number)}`;
}
