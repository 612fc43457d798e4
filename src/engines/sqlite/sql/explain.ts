import type { ExplainDialect } from "../../../sql/explain_dialect.ts";

/** The plans of SQLite statements (https://sqlite.org/eqp.html). */
export const sqliteExplain: ExplainDialect = {
  statement: (text) => `EXPLAIN QUERY PLAN ${text}`,
  lines(rows) {
    const depths = new Map<unknown, number>();
    // Each row has an id, the id of the parent, an unused number, and a description.
    return rows.map(([id, parent, , detail]) => {
      const depth = (depths.get(parent) ?? -1) + 1;
      depths.set(id, depth);
      return "  ".repeat(depth) + String(detail);
    });
  },
};
