import type { ExplainDialect } from "../../../sql/explain_dialect.ts";

/** Shows the query plans of SQLite (https://sqlite.org/eqp.html). */
export const sqliteExplain: ExplainDialect = {
  statement: (text) => `EXPLAIN QUERY PLAN ${text}`,
  lines(rows) {
    const depths = new Map<unknown, number>();
    // Each row has an id, the parent's id, an unused number, and a description.
    return rows.map(([id, parent, , detail]) => {
      const depth = (depths.get(parent) ?? -1) + 1;
      depths.set(id, depth);
      return "  ".repeat(depth) + String(detail);
    });
  },
};
