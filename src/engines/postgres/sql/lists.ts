import { isDocument } from "../../../schema/structured/kind_of_column.ts";
import type { Dialect } from "../../../sql/dialect.ts";
import { type Fragment, join, rawSql, sql } from "../../../sql/fragment.ts";
import type { DocumentItem, ListDialect } from "../../../sql/list_dialect.ts";
import { postgresJsonPaths } from "./json_path.ts";

/** Returns the conditions on items of Postgres lists, with operators for which GIN indexes work. */
export function postgresLists({ operand, bound }: Pick<Dialect, "operand" | "bound">): ListDialect {
  return {
    holds(column, items, quantifier) {
      if (!isDocument(column)) {
        const sign = rawSql(quantifier === "all" ? "@>" : "&&");
        return sql`${operand(column)} ${sign} ${bound(items, column)}`;
      }
      // The cast is safe: for a JSON column, the operators pass document items.
      const wanted = items as readonly DocumentItem[];
      const { type, document } = postgresJsonPaths.whole(column);
      const groups = quantifier === "all" ? [wanted] : wanted.map((item) => [item]);
      const tests = groups.map((group) => sql`${document} @> ${jsonOf(group)}::jsonb`);
      return sql`(${type} = 'array' AND ${either(tests)})`;
    },
  };
}

function either(tests: readonly Fragment[]): Fragment {
  return tests.length === 1 ? join(tests, "") : sql`(${join(tests, " OR ")})`;
}

function jsonOf(items: readonly DocumentItem[]): string {
  const texts = items.map((item) => typeof item === "object" ? item.number : JSON.stringify(item));
  return `[${texts.join(",")}]`;
}
