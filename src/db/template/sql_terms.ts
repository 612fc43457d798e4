import type { ColumnInfo } from "../../schema/table_info.ts";
import type { ColumnsInSql } from "./columns_in_sql.ts";
import { isSign, isWord, type SqlToken } from "./sql_parts.ts";

/** The groups of operands ("terms") in a statement: its conditions, assignments and list items. */
export interface SqlTerms {
  /** Returns the keyword of the clause that contains a token, such as `WHERE`. */
  clauseAt(index: number): string;
  /** Returns the index after the last token of the term that contains a token. */
  endOf(index: number): number;
  /** Returns true if a token is in a condition between WHEN and THEN. */
  isCondition(index: number): boolean;
  /** Returns the first column in a token's term that does not contain strings, or null. */
  kindedColumnNear(index: number): ColumnInfo | null;
}

const clauses: readonly string[] = [
  ...["WITH", "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "SET"],
  ...["VALUES", "RETURNING", "ON", "JOIN", "UNION", "INTERSECT", "EXCEPT", "INSERT", "UPDATE"],
  ...["DELETE", "INTO", "USING"],
];
const separators: readonly string[] = ["AND", "OR", "WHEN", "THEN", "ELSE", "CASE", "END"];
/** Words before a parenthesis that are not names of functions. */
const noFunctions: readonly string[] = [...clauses, ...separators, "IN", "NOT", "EXISTS", "AS"];

/**
 * Divides a statement into terms. If the SQL compares a function's result with a value, the value
 * and the arguments of the function are one term. A CASE forms a term in the same way: its results
 * and the value that the SQL compares with them.
 */
export function termsOf(tokens: readonly SqlToken[], columns: ColumnsInSql): SqlTerms {
  const termOf: number[] = [];
  const clauseOf: string[] = [];
  const outer: { term: number; clause: string; isCall: boolean }[] = [];
  const cases: { readonly term: number; isCondition: boolean }[] = [];
  const conditions: boolean[] = [];
  let [term, last, clause, isCall] = [0, 0, "", false];
  tokens.forEach((token, index) => {
    if (isSign(token, "(")) {
      outer.push({ term, clause, isCall });
      const before = tokens[index - 1];
      isCall = before?.kind === "word" && !isWord(before, ...noFunctions);
    } else if (isSign(token, ")")) {
      ({ term, clause, isCall } = outer.pop() ?? { term, clause, isCall });
    } else if (isWord(token, ...clauses) && !isDistinctFrom(tokens, index)) {
      clause = token.kind === "word" ? token.keyword : "";
      term = ++last;
    } else if (isWord(token, "CASE")) {
      cases.push({ term, isCondition: false });
      term = ++last;
    } else if (isWord(token, "WHEN", "THEN", "ELSE", "END") && cases.length > 0) {
      const inner = cases[cases.length - 1]!;
      inner.isCondition = isWord(token, "WHEN");
      term = inner.isCondition ? ++last : inner.term;
      if (isWord(token, "END")) cases.pop();
    } else if (isWord(token, ...separators) || isSign(token, ",") && !isCall) term = ++last;
    termOf.push(term);
    clauseOf.push(clause);
    conditions.push(cases.some(({ isCondition }) => isCondition));
  });
  return {
    clauseAt: (index) => clauseOf[index] ?? "",
    endOf: (index) => termOf.lastIndexOf(termOf[index] ?? 0) + 1,
    isCondition: (index) => conditions[index] === true,
    kindedColumnNear(index) {
      for (let at = 0; at < tokens.length; at++) {
        if (termOf[at] !== termOf[index]) continue;
        const column = columns.endingAt(at);
        if (column !== null && column.kind !== "text") return column;
      }
      return null;
    },
  };
}

function isDistinctFrom(tokens: readonly SqlToken[], index: number): boolean {
  return isWord(tokens[index], "FROM") && isWord(tokens[index - 1], "DISTINCT");
}
