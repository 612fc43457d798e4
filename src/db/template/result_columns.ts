import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import { plainDecimal } from "../../schema/kinds/number_kinds.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import {
  divideExactDecimal,
  parseExactDecimal,
  printExactDecimal,
} from "../../sql/exact_decimal.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import type { QueryResult, ResultColumn } from "../driver.ts";
import {
  type ColumnsInSql,
  conditionsOfCases,
  findWord,
  itemsFrom,
  partAt,
  selectLists,
} from "./columns_in_sql.ts";
import { type FlatTemplate, isSign, isWord } from "./sql_parts.ts";

export type ResultItem =
  /** A single property of the result. `column` is null if the value has no declared type. */
  | {
    readonly kind: "one";
    readonly name: string;
    readonly column: ColumnInfo | null;
    /** True for the value of an expression, false for the stored value of the column. */
    readonly computed: boolean;
  }
  /** `*` or `notes.*`. `named` returns the columns whose name in the database is `dbName`. */
  | { readonly kind: "star"; named(dbName: string): readonly (ColumnInfo | null)[] };

/** Parses the items of RETURNING or SELECT. Throws if engines could differ in names or values. */
export function resultItems(template: FlatTemplate, columns: ColumnsInSql): readonly ResultItem[] {
  const { tokens } = template;
  const lists = selectLists(tokens);
  // The outer statement refers to a subquery's items by name, so these items need the same checks.
  for (const { items } of lists.filter(({ open }) => open !== null)) {
    for (const [from, to] of items) {
      if (isWord(tokens[to - 2], "AS")) resultItem(from, to, template, columns);
    }
  }
  const returning = findWord(tokens, ["RETURNING"]);
  const writes = findWord(tokens, ["INSERT", "UPDATE", "DELETE"]) >= 0;
  const items = returning >= 0
    ? itemsFrom(tokens, returning + 1)
    : writes
    ? []
    : lists.find(({ open }) => open === null)?.items ?? [];
  return items.map(([from, to]) => resultItem(from, to, template, columns));
}

function resultItem(
  from: number,
  to: number,
  template: FlatTemplate,
  columns: ColumnsInSql,
): ResultItem {
  const { tokens, parts } = template;
  if (isSign(tokens[to - 1], "*") && (to - from === 1 || isSign(tokens[to - 2], "."))) {
    const part = partAt(tokens, parts, from);
    if (part?.kind !== "table") return { kind: "star", named: columns.named };
    const own = part.table.columns;
    return { kind: "star", named: (dbName) => own.filter((column) => column.dbName === dbName) };
  }
  if (isWord(tokens[to - 2], "AS")) return aliased(from, to, template, columns);
  const column = wholeColumn(from, to, template, columns);
  const last = tokens[to - 1];
  const name = column?.name ?? (last?.kind === "word" || last?.kind === "quoted" ? last.text : "");
  if (!isPath(from, to, template) || name === "") {
    throw new Error("Cannot name a column of the result: write AS and a name after the expression");
  }
  return { kind: "one", name, column, computed: false };
}

function aliased(
  from: number,
  to: number,
  template: FlatTemplate,
  columns: ColumnsInSql,
): ResultItem {
  const { tokens, parts } = template;
  const part = partAt(tokens, parts, to - 1);
  if (part?.kind === "alias" || part?.kind === "column") {
    requireDigits(part.column, from, to - 2, template);
    return { kind: "one", name: part.column.name, column: part.column, computed: true };
  }
  const alias = tokens[to - 1];
  const name = alias?.kind === "word" || alias?.kind === "quoted" ? alias.text : "";
  if (name === "") throw new Error("Cannot name a column of the result by what follows AS");
  const column = wholeColumn(from, to - 2, template, columns);
  if (column === null) requirePlain(from, to - 2, name, template, columns);
  return { kind: "one", name, column, computed: false };
}

/** Requires a scale for computed decimals, because SQLite's doubles have wrong last digits. */
function requireDigits(
  { name, kind, scale }: ColumnInfo,
  from: number,
  to: number,
  { tokens }: FlatTemplate,
): void {
  if (kind !== "decimal" || scale !== null) return;
  const computes = tokens.slice(from, to).some((token) =>
    isWord(token, "SUM", "AVG", "ROUND") || isSign(token, "+", "-", "*", "/")
  );
  if (!computes) return;
  throw new Error(
    `Cannot compute "${name}" without its digits: write AS \${decimal({ precision: 20, scale: 2 }).as("${name}")}`,
  );
}

function isPath(from: number, to: number, { tokens }: FlatTemplate): boolean {
  for (let index = from; index < to; index++) {
    const isName = (index - from) % 2 === 0;
    if (isName ? tokens[index]?.kind === "sign" : !isSign(tokens[index], ".")) return false;
    if (isName && tokens[index]?.kind === "literal") return false;
  }
  return (to - from) % 2 === 1;
}

function wholeColumn(
  from: number,
  to: number,
  template: FlatTemplate,
  columns: ColumnsInSql,
): ColumnInfo | null {
  if (!isPath(from, to, template)) return null;
  const column = columns.endingAt(to - 1);
  const token = template.tokens[to - 1];
  if (columns.isAmbiguous(to - 1) && (token?.kind === "word" || token?.kind === "quoted")) {
    throw new Error(`Cannot tell whose column "${token.text}" is: interpolate the column`);
  }
  return column;
}

function requirePlain(
  from: number,
  to: number,
  name: string,
  { tokens, parts }: FlatTemplate,
  columns: ColumnsInSql,
): void {
  if (isWord(tokens[from], "COUNT") && isSign(tokens[from + 1], "(")) return;
  const conditions = conditionsOfCases(tokens);
  for (let index = from; index < to; index++) {
    const part = partAt(tokens, parts, index);
    const isMoment = part?.kind === "value" && part.value instanceof Date;
    const kind = isMoment ? "timestamp" : columns.endingAt(index)?.kind;
    if (kind === undefined || !kindProperties[kind].dependsOnEngine || conditions[index]) continue;
    throw new Error(
      `Cannot tell the kind of "${name}", made from a ${kind}: write AS \${${kind}().as("${name}")}, with the kind that it has`,
    );
  }
}

export function rowReader(
  items: readonly ResultItem[],
): (result: QueryResult, dialect: Dialect) => Record<string, unknown>[] {
  let known: readonly ResultColumn[] = [];
  let cells: readonly ResultCell[] = [];
  return ({ rows, columns = [] }, dialect) => {
    if (columns.length === 0) return [];
    if (!areSame(columns, known)) {
      cells = uniqueCells(columns, items);
      known = columns;
    }
    return rows.map((row) =>
      Object.fromEntries(
        cells.map((cell, index) =>
          [cell.name, decoded(row[index] ?? null, cell, dialect)] as const
        ),
      )
    );
  };
}

function areSame(left: readonly ResultColumn[], right: readonly ResultColumn[]): boolean {
  if (left === right) return true;
  return left.length === right.length &&
    left.every(({ name, type }, index) =>
      name === right[index]?.name && type === right[index].type
    );
}

function uniqueCells(
  columns: readonly ResultColumn[],
  items: readonly ResultItem[],
): readonly ResultCell[] {
  const cells = items.length === 0
    ? columns.map((column) => starCell(column, () => []))
    : cellsOf(columns, items);
  const names = new Set<string>();
  for (const { name } of cells) {
    if (names.has(name)) {
      throw new Error(`Cannot show two columns named "${name}": name one of them with AS`);
    }
    names.add(name);
  }
  return cells;
}

interface ResultCell {
  readonly name: string;
  readonly column: ColumnInfo | null;
  readonly computed: boolean;
  readonly type: number | null;
}

/** Assigns result columns to items. Columns after the last `*` are counted from the end. */
function cellsOf(
  columns: readonly ResultColumn[],
  items: readonly ResultItem[],
): readonly ResultCell[] {
  const first = items.findIndex(({ kind }) => kind === "star");
  const last = items.findLastIndex(({ kind }) => kind === "star");
  const stars = items.filter((item) => item.kind === "star");
  const named = (name: string) => [...new Set(stars.flatMap((star) => star.named(name)))];
  return columns.map((column, index) => {
    const fromRight = items.length - (columns.length - index);
    const item = first < 0 || index < first
      ? items[index]
      : fromRight > last
      ? items[fromRight]
      : undefined;
    if (item?.kind !== "one") return starCell(column, named);
    return { ...item, type: column.type };
  });
}

function starCell(
  { name, type }: ResultColumn,
  named: (name: string) => readonly (ColumnInfo | null)[],
): ResultCell {
  const [column = null, ...others] = named(name);
  if (others.length > 0) {
    throw new Error(`Cannot tell whose column "${name}" is: list the columns in place of *`);
  }
  return { name: column?.name ?? name, column, computed: false, type };
}

function decoded(value: SqlValue, cell: ResultCell, dialect: Dialect): unknown {
  const { name, column, computed, type } = cell;
  if (value === null) return null;
  if (column !== null) {
    if (!computed) return dialect.decode(value, column, () => {});
    return dialect.decode(rounded(value, column), column, () => {
      throw new Error(`Cannot show "${name}" as ${column.kind}: its value has another form`);
    });
  }
  const plain = dialect.decodeUntyped(value, type);
  if (plain !== undefined) return plain;
  throw new Error(
    `Cannot tell the kind of "${name}": write AS \${timestamp().as("${name}")} or another kind after it`,
  );
}

/** Rounds a decimal. Engines compute more digits than a column has, and SQLite computes doubles. */
function rounded(value: SqlValue, { kind, scale }: ColumnInfo): SqlValue {
  if (kind !== "decimal" || scale === null || value instanceof Uint8Array) return value;
  const plain = plainDecimal(String(value));
  return plain === null
    ? value
    : printExactDecimal(divideExactDecimal(parseExactDecimal(plain), 1n, scale));
}
