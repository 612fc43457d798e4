import { ddlTokenPattern, type SqlSyntax } from "../../../sql/statements/normal_sql.ts";

export const sqliteSyntax: SqlSyntax = {
  tokens: ddlTokenPattern,
  bareWords: (words) => words,
  scriptTokens:
    /\s+|--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?|[\p{L}\d_$]+|[^]/uy,
  endOf: (_script, _at, token) => /^\[[^\]]*$/.test(token) ? -1 : null,
};
