import { quoteName } from "../../../filter/syntax/quoted_name.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";

export interface IndexCondition {
  /** The filter as text: `deletedAt==null;status==open`. */
  readonly filter: string;
  readonly columns: readonly ColumnInfo[];
}

/** Returns a partial index's condition as a filter, or null if it is not an AND of comparisons. */
export function parseIndexCondition(
  sql: string,
  columns: readonly ColumnInfo[],
): IndexCondition | null {
  const terms: string[][] = [[]];
  for (const token of tokensOf(sql, columns) ?? ["?"]) {
    if (/^AND$/i.test(token)) terms.push([]);
    else terms.at(-1)?.push(token);
  }
  const parsed = terms.map((term) => parseTerm(term, columns));
  const known = parsed.filter((term) => term !== null);
  return known.length < parsed.length ? null : {
    filter: known.map(({ text }) => text).join(";"),
    columns: known.map(({ column }) => column),
  };
}

const quoted = String.raw`'(?:[^']|'')*'|"(?:[^"]|"")*"`;
const tokenPattern = new RegExp(
  String.raw`${quoted}|<>|!=|<=|>=|-?\d+(?:\.\d+)?|[A-Za-z_]\w*|\S`,
  "g",
);
/** Matches quoted strings and names. Outside of quotes, matches casts and collations. */
const typesPattern = new RegExp(
  String.raw`${quoted}|\bCOLLATE\s+(?:"(?:[^"]|"")*"|\w+)|` +
    String.raw`::\s*(?:(?:"(?:[^"]|"")*"|(?!(?:AND|OR|NOT|IS|IN|COLLATE)\b)\w+)\s*)+(?:\([^)]*\))?`,
  "gi",
);

const exactCollation = /^COLLATE\s+"?(?:C|POSIX|BINARY)"?$/i;
const textCast = /^::\s*(?:text|varchar|character varying)\b/i;
const columnBefore = /("(?:[^"]|"")*"|[A-Za-z_]\w*)[)\s]*$/;

/** Returns the tokens except casts and collations. Null if one of these equates unequal values. */
function tokensOf(sql: string, columns: readonly ColumnInfo[]): readonly string[] | null {
  let isExact = true;
  const untyped = sql.replace(typesPattern, (text, offset: number) => {
    if (/^['"]/.test(text)) return text;
    const [, name = ""] = columnBefore.exec(sql.slice(0, offset)) ?? [];
    const column = columnOf(name, columns);
    isExact &&= exactCollation.test(text) || (text.startsWith(":") &&
      (column === undefined || (column.kind === "text" && textCast.test(text))));
    return " ";
  });
  if (!isExact) return null;
  const tokens: string[] = [];
  for (const [token] of untyped.matchAll(tokenPattern)) {
    const isAround = token === ")" && tokens.at(-2) === "(" && /^['"\w-]/.test(tokens.at(-1) ?? "");
    if (isAround) tokens.splice(-2, 1);
    else tokens.push(token);
  }
  return tokens;
}

function columnOf(name: string, columns: readonly ColumnInfo[]): ColumnInfo | undefined {
  const dbName = name.startsWith('"') ? unquoted(name) : name;
  return columns.find((one) => one.dbName === dbName);
}

function parseTerm(tokens: readonly string[], columns: readonly ColumnInfo[]) {
  const [start, end] = [
    tokens.findIndex((token) => token !== "("),
    tokens.findLastIndex((token) => token !== ")"),
  ];
  const isNegated = /^NOT$/i.test(tokens[start] ?? "");
  const [first = "", ...rest] = tokens.slice(isNegated ? start + 1 : start, end + 1);
  const column = columnOf(first, columns);
  if (column === undefined) return null;
  const test = rest.length === 0 && column.kind === "boolean"
    ? `==${!isNegated}`
    : isNegated
    ? null
    : comparison(rest, column);
  return test === null ? null : { text: quoteName(column.name) + test, column };
}

function comparison(tokens: readonly string[], { kind }: ColumnInfo): string | null {
  const words = tokens.join(" ");
  if (/^IS NULL$/i.test(words)) return "==null";
  if (/^IS NOT NULL$/i.test(words)) return "!=null";
  const [sign = "", constant = ""] = tokens;
  const operator = operators[sign];
  const isText = constant.startsWith("'");
  const isConstant = isText || /^-?\d|^(?:true|false)$/i.test(constant);
  if (tokens.length !== 2 || operator === undefined || !isConstant) return null;
  const text = isText ? unquoted(constant) : constant.toLowerCase();
  // SQLite stores booleans as numbers.
  if (kind === "boolean" && /^[01]$/.test(text)) return operator + (text === "1");
  const isPlain = /^[A-Za-z0-9_]+$/.test(text) && !/^null$/i.test(text);
  return operator + (isPlain ? text : JSON.stringify(text));
}

function unquoted(token: string): string {
  const quote = token.charAt(0);
  return token.slice(1, -1).replaceAll(quote + quote, quote);
}

const operators: Readonly<Record<string, string>> = {
  ...{ "=": "==", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=" },
};
