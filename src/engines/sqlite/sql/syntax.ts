import type { SqlSyntax } from "../../../sql/statements/sql_syntax.ts";
import { createStatementTokens } from "../../../sql/statements/sql_tokens.ts";

/** The SQL syntax of SQLite. */
export const sqliteSyntax: SqlSyntax = {
  tokens: createStatementTokens,
  bareWords: (words) => words,
  scriptTokens:
    /\s+|--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]|[\p{L}\d_$]+|[^]/uy,
  endOf: () => null,
};
