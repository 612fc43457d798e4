import { type Filter, isFilter } from "../../filter/filter.ts";
import { ColumnBuilder } from "../../schema/column_builder.ts";
import { type ColumnInfo, plainColumn, type TableInfo } from "../../schema/table_info.ts";
import {
  columnInfoOf,
  isColumn,
  isTableInfo,
  isTableLike,
  tableInfoOf,
  type TableLike,
} from "../../schema/table_like.ts";
import { Fragment } from "../../sql/fragment.ts";
import { touchesToken } from "../../sql/sql_template.ts";

export type SqlPart =
  | { readonly kind: "column"; readonly column: ColumnInfo }
  | { readonly kind: "table"; readonly table: TableInfo }
  | { readonly kind: "filter"; readonly filter: Filter }
  | { readonly kind: "fragment"; readonly fragment: Fragment }
  /** The name after AS, with the kind of the expression before AS. */
  | { readonly kind: "alias"; readonly column: ColumnInfo }
  | { readonly kind: "valueOf"; readonly column: ColumnInfo; readonly value: unknown }
  | { readonly kind: "value"; readonly value: unknown };

export class ValueOfColumn {
  readonly column: ColumnInfo;
  readonly value: unknown;

  /** Internal. Programs call `db.sql.value()`. */
  constructor(column: ColumnInfo, value: unknown) {
    this.column = column;
    this.value = value;
  }
}

export interface SqlTemplate {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];
}

/** A template merged with its nested templates. Each part is between two of the `texts`. */
export interface FlatTemplate {
  readonly texts: readonly string[];
  readonly parts: readonly SqlPart[];
  readonly tokens: readonly SqlToken[];
}

export type TemplateOf = (value: unknown) => SqlTemplate | null;

/** Returns the parts and a `shape`. Templates with equal shapes share a parsed plan. */
export function partsOf(template: SqlTemplate, templateOf: TemplateOf) {
  const parts: SqlPart[] = [];
  const shape: unknown[] = [];

  function add({ strings, values }: SqlTemplate): void {
    shape.push(strings);
    values.forEach((value, index) => {
      const nested = templateOf(value);
      if (nested !== null) return add(nested);
      const part = partOf(value, index + 1);
      parts.push(part);
      shape.push(shapeOf(part));
    });
    shape.push(null);
  }

  add(template);
  return { parts, shape };
}

function shapeOf(part: SqlPart): unknown {
  switch (part.kind) {
    case "column":
      return part.column;
    case "table":
      return part.table;
    case "alias": {
      const { kind, dbName, precision, scale } = part.column;
      return `${kind} ${precision} ${scale} ${dbName}`;
    }
    case "value":
      return part.value instanceof Date ? "moment" : "value";
    default:
      return part.kind;
  }
}

export function flattenTemplate(
  template: SqlTemplate,
  parts: readonly SqlPart[],
  templateOf: TemplateOf,
): FlatTemplate {
  const texts = [""];
  const tokens: SqlToken[] = [];
  let next = 0;

  function add({ strings, values }: SqlTemplate): void {
    const addText = (index: number) => {
      texts[texts.length - 1] += separated(strings[index] ?? "");
    };
    addText(0);
    for (const token of sqlTokens(strings)) {
      if (token.kind !== "part") {
        tokens.push(token);
        continue;
      }
      const nested = templateOf(values[token.index]);
      if (nested === null) {
        // The text of a nested template is separated from its surroundings, as if by spaces.
        const isApart = token.index === 0 || templateOf(values[token.index - 1]) !== null;
        requireApart(strings, token.index, [isApart ? undefined : parts[next - 1], parts[next]]);
        tokens.push({ kind: "part", index: next++ });
        texts.push("");
      } else if (isWord(tokens.at(-1), "IN")) {
        tokens.push({ kind: "sign", text: "(" });
        texts[texts.length - 1] += "(";
        add(nested);
        tokens.push({ kind: "sign", text: ")" });
        texts[texts.length - 1] += ")";
      } else add(nested);
      addText(token.index + 1);
    }
  }

  add(template);
  return { texts, parts, tokens };
}

/** Throws if a value, name or column touches a word, number or quote: the two would merge. */
function requireApart(
  texts: readonly string[],
  index: number,
  [previous, part]: readonly [SqlPart | undefined, SqlPart | undefined],
): void {
  if (!isName(part)) return;
  const [before = "", after = ""] = [texts[index], texts[index + 1]];
  const touches = touchesToken(before, after);
  // A column can follow a table alias and a dot: `n.${notes.id}`.
  const isValue = part?.kind === "value" || part?.kind === "valueOf";
  const joins = isValue &&
    (/\.$/.test(before) || /^\./.test(after) || before === "" && isName(previous));
  if (!touches && !joins) return;
  throw new Error(
    `Cannot read the SQL: value ${index + 1} touches other text: ${before.slice(-20)}\${…}${
      after.slice(0, 20)
    }`,
  );
}

function isName(part: SqlPart | undefined): boolean {
  return part !== undefined && part.kind !== "filter" && part.kind !== "fragment";
}

/** Puts spaces around nested SQL, so that words do not merge, and a line break after a comment. */
function separated(text: string): string {
  return text.includes("--") ? ` ${text}\n` : ` ${text} `;
}

function partOf(value: unknown, position: number): SqlPart {
  if (value === undefined || typeof value === "function" || typeof value === "symbol") {
    throw new Error(`Cannot interpolate ${typeof value} in SQL: it is value ${position}`);
  }
  if (typeof value !== "object" || value === null) return { kind: "value", value };
  if (isColumn(value)) return { kind: "column", column: columnInfoOf(value) };
  if (isTable(value)) {
    return { kind: "table", table: isTableInfo(value) ? value : tableInfoOf(value) };
  }
  if (value instanceof Fragment) return { kind: "fragment", fragment: value };
  if (value instanceof ValueOfColumn) return { kind: "valueOf", ...value };
  if (value instanceof ColumnBuilder) return { kind: "alias", column: resultColumn(value) };
  if (isFilter(value)) return { kind: "filter", filter: value };
  return { kind: "value", value };
}

function isTable(value: object): value is TableLike<unknown, unknown> | TableInfo {
  return isTableLike(value) || ("byName" in value && value.byName instanceof Map);
}

/** Converts a column after AS, such as `timestamp().as("latest")`, which belongs to no table. */
function resultColumn(
  { declaration }: ColumnBuilder<unknown, boolean, boolean, boolean>,
): ColumnInfo {
  const { dbName } = declaration;
  if (dbName === null) {
    throw new Error(`Cannot name a column ${declaration.kind}() without its name: add .as("name")`);
  }
  // A default and a reference make sense only in a table.
  return { ...plainColumn, ...declaration, name: dbName, dbName, default: null, references: null };
}

export type SqlToken =
  | { readonly kind: "word"; readonly text: string; readonly keyword: string }
  | { readonly kind: "quoted"; readonly text: string }
  | { readonly kind: "literal"; readonly value: string; readonly isText: boolean }
  | { readonly kind: "sign"; readonly text: string }
  | { readonly kind: "part"; readonly index: number };

/** Parses a template's strings. Throws a plain Error for SQL that engines read differently. */
export function sqlTokens(texts: readonly string[]): readonly SqlToken[] {
  return texts.flatMap((text, index) => {
    const own = tokensOf(text, index === texts.length - 1);
    return index === 0 ? own : [{ kind: "part", index: index - 1 } as const, ...own];
  });
}

/** At every position, at least one alternative matches, so no character is skipped. */
const pattern = new RegExp(
  [
    // Only Postgres supports nested comments. SQLite ends a comment at the first end mark.
    String.raw`(?<blank>\s+|--[^\n]*(?:\n|$)|/\*(?:[^*/]|\*(?!/)|/(?!\*))*\*/)`,
    String.raw`(?<text>'(?:[^']|'')*')`,
    String.raw`(?<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)`,
    String.raw`(?<quoted>"(?:[^"]|"")*")`,
    // A prefix letter can change where a string ends, as in `E'a\'b'`. SQLite allows only `X'00'`.
    String.raw`(?<prefix>(?:[A-Za-z]|[uU]&)')`,
    String.raw`(?<word>[\p{L}_][\p{L}\p{N}_]*)`,
    String.raw`(?<open>['"]|/\*|\$)`,
    String.raw`(?<foreign>::|==)`,
    String.raw`(?<placeholder>\?|[:@](?=[\p{L}_]))`,
    String.raw`(?<sign><=|>=|<>|!=|\|\||->>|->|[^])`,
  ].join("|"),
  "guy",
);

function tokensOf(text: string, isLast: boolean): readonly SqlToken[] {
  const tokens: SqlToken[] = [];
  for (const { groups = {} } of text.matchAll(pattern)) {
    const { blank, text: literal, number, quoted, word, sign } = groups;
    if (blank !== undefined) {
      if (isLast || !blank.startsWith("--") || blank.endsWith("\n")) continue;
      // An interpolated part after `--` would be a comment only up to its first line end.
      throw refusal({ open: "--" });
    }
    if (literal !== undefined) {
      const value = literal.slice(1, -1).replaceAll("''", "'");
      tokens.push({ kind: "literal", value, isText: true });
    } else if (number !== undefined) {
      tokens.push({ kind: "literal", value: number, isText: false });
    } else if (quoted !== undefined) {
      tokens.push({ kind: "quoted", text: quoted.slice(1, -1).replaceAll('""', '"') });
    } else if (word !== undefined) {
      tokens.push({ kind: "word", text: word, keyword: word.toUpperCase() });
    } else if (sign !== undefined) tokens.push({ kind: "sign", text: sign });
    else throw refusal(groups);
  }
  return tokens;
}

function refusal(found: Readonly<Record<string, string | undefined>>): Error {
  const { open, placeholder, prefix, foreign } = found;
  const why = foreign !== undefined
    ? `"${foreign}" is not SQL of every engine: write ${foreign === "::" ? "CAST(… AS …)" : "="}`
    : prefix !== undefined
    ? `${prefix}…' is not SQL of every engine: interpolate the value`
    : placeholder !== undefined || open === "$"
    ? `"${placeholder ?? open}" looks like a placeholder: interpolate the value`
    : `${open} is not closed; nothing is interpolated inside a string, a quoted name or a comment`;
  return new Error(`Cannot read the SQL: ${why}`);
}

export function isWord(token: SqlToken | undefined, ...keywords: readonly string[]): boolean {
  return token?.kind === "word" && keywords.includes(token.keyword);
}

export function isSign(token: SqlToken | undefined, ...signs: readonly string[]): boolean {
  return token?.kind === "sign" && signs.includes(token.text);
}

/** The first words of the portable statements that cannot affect other requests. */
const beginnings: readonly string[] = [
  ...["SELECT", "WITH", "VALUES", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP"],
];

/** Throws a plain Error unless the SQL is exactly one statement that affects no other requests. */
export function requireOneStatement(tokens: readonly SqlToken[]): void {
  const [first] = tokens;
  if (first === undefined || isSign(first, ";")) throw new Error("Cannot run an empty statement");
  const end = tokens.findIndex((token) => isSign(token, ";"));
  if (end >= 0 && tokens.slice(end).some((token) => !isSign(token, ";"))) {
    throw new Error("Cannot run several statements at once: run them one by one");
  }
  if (tokens.some((token) => isWord(token, "CURRENT_TIMESTAMP"))) {
    throw new Error("Cannot use CURRENT_TIMESTAMP, which SQLite has as text: interpolate a Date");
  }
  // An interpolated fragment can be a whole statement.
  if (first.kind === "part" || isWord(first, ...beginnings)) return;
  const what = first.kind === "word" ? first.keyword : "what begins so";
  throw new Error(
    `Cannot run ${what} as a statement: use transaction() for transactions, and query() for what one engine has`,
  );
}
