import { resolveFilter } from "../../src/filter/resolve_filter.ts";
import { createOperatorRegistry } from "../../src/filter/operators/operator_registry.ts";
import { parseFilter } from "../../src/filter/syntax/parse_filter.ts";
import type { Filter } from "../../src/filter/filter.ts";
import {
  type FilterSyntax,
  type Literal,
  termsOfSyntax,
} from "../../src/filter/syntax/filter_syntax.ts";
import { Problem } from "../../src/problem/problem.ts";
import {
  type ColumnInfo,
  createTableInfo,
  plainColumn,
  type TableInfo,
} from "../../src/schema/table_info.ts";
import type { ColumnKind } from "../../src/schema/kind.ts";

/** A table from the kinds of its columns; the first column is the key. */
export function tableOf(kinds: Readonly<Record<string, ColumnKind>>): TableInfo {
  const columns = Object.entries(kinds).map(([name, kind], index) =>
    columnOf(name, kind, index === 0)
  );
  return createTableInfo({ name: "things", schema: null, columns, foreignKeys: [], own: true });
}

function columnOf(name: string, kind: ColumnKind, primaryKey: boolean): ColumnInfo {
  return {
    ...plainColumn,
    ...{ name, dbName: name, kind, primaryKey, notNull: primaryKey },
    scale: kind === "decimal" ? 2 : null,
  };
}

/** Resolves a filter text; every column may be filtered by. */
export function filterOf(text: string, table: TableInfo): Filter {
  const syntax = parseFilter(text);
  if (syntax === null) throw new Error("there is no filter in the text");
  return resolveFilter(syntax, {
    table,
    operators: createOperatorRegistry({}),
    mayFilter: () => true,
  });
}

/** A tree as a text in prefix form: `(and (== a #1) (>= b "x"))`, with operators' first symbols. */
export function show(syntax: FilterSyntax | null): string {
  if (syntax === null) return "∅";
  if (syntax.kind !== "compare") {
    return `(${[...("path" in syntax ? syntax.path : []), syntax.kind].join(".")} ${
      termsOfSyntax(syntax).map(show).join(" ")
    })`;
  }
  const name = createOperatorRegistry({}).get(syntax.operator)?.symbols[0] ?? syntax.operator;
  return `(${[name, syntax.field, ...syntax.values.map(showLiteral)].join(" ")})`;
}

function showLiteral({ text, quoted }: Literal): string {
  if (!quoted && /^(true|false|null)$/.test(text)) return text;
  const isNumber = !quoted && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text);
  return isNumber ? `#${text}` : JSON.stringify(text);
}

/** The problem that `work` throws. */
export function problemOf(work: () => unknown): Problem {
  try {
    work();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error("it was accepted");
}
