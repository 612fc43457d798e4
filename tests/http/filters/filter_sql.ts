import {
  columnOf,
  documents,
  type ModelRelation,
  type Pairs,
  regions,
  relationOf,
  roles,
  type TableName,
  texts,
  type Value,
} from "./model.ts";
import { type Compare, holdsMissing, isMissing, type Tree } from "./tree.ts";

/** How a filter sees related rows, and what SQL to write. */
export interface Sight {
  readonly engine: "sqlite" | "postgres";
  /** The condition for a related row or a link under this alias; null without one. */
  visible(table: TableName, alias: string): string | null;
}

const yes = "(1 = 1)";
const no = "(1 = 0)";

/** The condition of a filter over the row that has this alias: three-valued, as SQL has it. */
export function sqlOf(tree: Tree, table: TableName, alias: string, sight: Sight): string {
  let aliases = 0;
  const name = () => `r${++aliases}_${alias}`;

  function condition(tree: Tree, table: TableName, alias: string): string {
    switch (tree.kind) {
      case "all":
        return yes;
      case "nothing":
        return no;
      case "and":
      case "or": {
        const terms = tree.terms.map((term) => condition(term, table, alias));
        return `(${terms.join(tree.kind === "and" ? " AND " : " OR ")})`;
      }
      case "not":
        return holdsMissing(tree) ? no : failed(condition(tree.term, table, alias));
      case "compare":
        return reached(tree.path, table, alias, (at, row) => compared(tree, at, row, sight));
      case "some":
        return reached(tree.path, table, alias, (at, row) => term(tree.term, at, row));
      case "none":
        if (holdsMissing(tree)) return no;
        return `(NOT ${reached(tree.path, table, alias, (at, row) => term(tree.term, at, row))})`;
      case "every":
        if (holdsMissing(tree)) return no;
        return `(NOT ${
          reached(tree.path, table, alias, (at, row) => failed(term(tree.term, at, row)))
        })`;
    }
  }

  const term = (tree: Tree | null, table: TableName, alias: string) =>
    tree === null ? yes : condition(tree, table, alias);

  /** Whether a row at the end of the path passes. */
  function reached(
    path: readonly string[],
    table: TableName,
    alias: string,
    passes: (table: TableName, alias: string) => string,
  ): string {
    const [step, ...rest] = path;
    if (step === undefined) return passes(table, alias);
    const relation = relationOf(table, step);
    const row = name();
    const { tables, conditions } = joined(relation, alias, row, name());
    const inner = reached(rest, relation.to, row, passes);
    return `EXISTS (SELECT 1 FROM ${tables} WHERE ${[...conditions, inner].join(" AND ")})`;
  }

  function joined({ to, on, via }: ModelRelation, from: string, row: string, link: string) {
    const seen = (table: TableName, alias: string) => sight.visible(table, alias) ?? yes;
    if (via === undefined) {
      return {
        tables: `"${to}" AS ${row}`,
        conditions: [...pairsSql(on, from, row), seen(to, row)],
      };
    }
    return {
      tables: `"${to}" AS ${row} CROSS JOIN "${via.table}" AS ${link}`,
      conditions: [
        ...pairsSql(on, from, link),
        ...pairsSql(via.on, link, row),
        seen(to, row),
        seen(via.table, link),
      ],
    };
  }

  return condition(tree, table, alias);
}

export function pairsSql(on: Pairs, from: string, to: string): readonly string[] {
  return on.map(([own, other]) => `${from}."${own}" = ${to}."${other}"`);
}

/** Whether a condition is false or unknown. */
function failed(condition: string): string {
  return `(CASE WHEN ${condition} THEN 0 ELSE 1 END = 1)`;
}

function compared(tree: Compare, table: TableName, alias: string, { engine }: Sight): string {
  const { operator, values, field } = tree;
  const { db, kind } = columnOf(table, field);
  const cell = `${alias}."${db}"`;
  const [first] = values;
  if (isMissing(tree)) return no;
  if (first === null) return `(${cellOrDocument(tree, cell, operator === "==")})`;
  if (operator === "=isnull=") return `(${cellOrDocument(tree, cell, first === true)})`;
  if (operator === "=isempty=") {
    const empty = kind === "text" ? `${cell} IS NULL OR ${cell} = ''` : `${cell} IS NULL`;
    return first === true ? `(${empty})` : `(NOT (${empty}))`;
  }
  if (kind === "json") return byDocument(tree, alias);
  const literals = values.map((value) => literal(value as Value));
  if (operator === "=in=") return literals.length === 0 ? no : `(${cell} IN (${literals}))`;
  if (operator === "=out=") return `(${cell} NOT IN (${literals}))`;
  const ordered = kind === "text" && engine === "postgres" ? `${cell} COLLATE "C"` : cell;
  const signs: Readonly<Record<string, string>> = { "==": "=", "!=": "<>" };
  if (/^([<>]=?|==|!=)$/.test(operator)) {
    return `(${ordered} ${signs[operator] ?? operator} ${literals[0]})`;
  }
  if (/between/.test(operator)) {
    const between = `(${ordered} >= ${literals[0]} AND ${ordered} <= ${literals[1]})`;
    return operator === "=between=" ? between : `(NOT ${between})`;
  }
  const held = [...texts, ...regions, ...roles].filter((text) => textPasses(text, operator, first));
  return `(CASE WHEN ${cell} IS NULL THEN NULL ELSE ${
    held.length === 0 ? no : `${cell} IN (${held.map(literal)})`
  } END)`;
}

/** Whether a value is NULL, or a value in a document is missing. */
function cellOrDocument({ within }: Compare, cell: string, isNull: boolean): string {
  if (within === undefined) return `${cell} IS ${isNull ? "" : "NOT "}NULL`;
  const absent = documents.flatMap((document, index) =>
    (valueAt(document, within) ?? null) === null ? [index] : []
  );
  const number = cell.replace(/"data"$/, '"doc_no"');
  const condition = `COALESCE(${number} IN (${absent}), ${yes})`;
  return isNull ? condition : `NOT ${condition}`;
}

/** By the numbers of the documents that pass. */
function byDocument({ operator, values, within = [] }: Compare, alias: string): string {
  const passes = (document: unknown): boolean => {
    const value = valueAt(document, within);
    if (operator.startsWith("=has")) {
      const found = values.map((one) => Array.isArray(value) && value.includes(one));
      return operator === "=hasall=" ? found.every((one) => one) : found.includes(true);
    }
    if (value === undefined || value === null) return false;
    const isOne = values.some((one) => one === value);
    return operator === "==" || operator === "=in=" ? isOne : !isOne;
  };
  const numbers = documents.flatMap((document, index) => passes(document) ? [index] : []);
  return numbers.length === 0 ? no : `(${alias}."doc_no" IN (${numbers}))`;
}

function valueAt(document: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => {
    if (typeof value !== "object" || value === null) return undefined;
    if (Array.isArray(value) !== /^\d+$/.test(name)) return undefined;
    return new Map(Object.entries(value)).get(name);
  }, document);
}

/** The operators of text, as docs/filter.md describes them. */
function textPasses(text: string, operator: string, value: unknown): boolean {
  const given = String(value);
  const length = [...text].length;
  const ignores = /^=n?i/.test(operator);
  const [a, b] = ignores ? [folded(text), folded(given)] : [text, given];
  switch (operator.replace(/^=i(?=contains|startswith|endswith)/, "=")) {
    case "%=":
    case "=ilike=":
      return isLike(a, b);
    case "!%=":
    case "=nilike=":
      return !isLike(a, b);
    case "=ieq=":
      return a === b;
    case "=ine=":
      return a !== b;
    case "=contains=":
      return a.includes(b);
    case "=startswith=":
      return a.startsWith(b);
    case "=endswith=":
      return a.endsWith(b);
    case "=length=":
      return length === value;
    case "=minlength=":
      return length >= Number(value);
    case "=maxlength=":
      return length <= Number(value);
    default:
      throw new Error(`no operator ${operator}`);
  }
}

function folded(text: string): string {
  return [...text].map((character) => character.toLowerCase().replace("ς", "σ")).join("");
}

function isLike(text: string, pattern: string): boolean {
  const source = pattern.replaceAll(/\\.|[^\\]/gsu, (part) => {
    if (part === "%") return ".*";
    if (part === "_") return ".";
    return (part.length > 1 && part.startsWith("\\") ? part.slice(1) : part)
      .replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  });
  return new RegExp(`^${source}$`, "su").test(text);
}

export function literal(value: Value): string {
  return typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
}
