import type { ColumnsInSql } from "./columns_in_sql.ts";
import type { SqlTerms } from "./sql_terms.ts";
import { isSign, isWord, type SqlToken } from "./sql_tokens.ts";

/**
 * Requires that an assignment rounds what it computes for a decimal column: SQLite computes with
 * doubles and would store 0.1 + 0.2 as 0.30000000000000004, where Postgres rounds by itself. Throws
 * a plain Error.
 */
export function requireRoundedDecimals(
  tokens: readonly SqlToken[],
  columns: ColumnsInSql,
  terms: SqlTerms,
): void {
  tokens.forEach((_token, index) => {
    if (terms.clauseAt(index) !== "SET" || !isSign(tokens[index + 1], "=")) return;
    const column = columns.endingAt(index);
    if (column?.kind !== "decimal" || column.scale === null) return;
    const assigned = tokens.slice(index + 2, terms.endOf(index));
    const computes = assigned.some((token) => isSign(token, "+", "-", "*", "/"));
    if (!computes || isWord(assigned[0], "ROUND")) return;
    throw new Error(
      `Cannot compute "${column.name}" without rounding: write round(…, ${column.scale})`,
    );
  });
}
