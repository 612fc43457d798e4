import type { ExplainDialect } from "../dialect.ts";

/** The plans of Postgres, as it indents them. */
export const postgresExplain: ExplainDialect = {
  statement: (text) => `EXPLAIN ${text}`,
  lines: (rows) => rows.map(([line]) => String(line)),
};
