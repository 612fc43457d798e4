import { ddlTokenPattern, type SqlSyntax } from "../../../sql/statements/sql_syntax.ts";

export const sqliteSyntax: SqlSyntax = {
  tokens: ddlTokenPattern,
  bareWords: (words) => words,
  scriptTokens:
    /\s+|--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]|[\p{L}\d_$]+|[^]/uy,
  endOf: () => null,
};
