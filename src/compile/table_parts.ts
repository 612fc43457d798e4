import type { Filter } from "../filter/filter.ts";
import type { Operator } from "../filter/operators/operator.ts";
import {
  betweenOperator,
  equalOperator,
  greaterOperator,
  greaterOrEqualOperator,
  inOperator,
  isNullOperator,
  lessOperator,
  lessOrEqualOperator,
  notBetweenOperator,
  notEqualOperator,
  outOperator,
} from "../filter/operators/operator_registry.ts";
import { readForeignKeyActions, type ReferenceOptions } from "../schema/column_options.ts";
import type { ConditionWriter, SqlCondition } from "../schema/table_constraints.ts";
import type { ColumnLike, ForeignKeyPart, TablePart } from "../schema/table_like.ts";
import { sqlLiteral } from "../sql/create_table.ts";
import type { Dialect } from "../sql/dialect.ts";
import { compileFilter } from "./where.ts";

/** A condition in a table declaration: a filter, or a string of the database's SQL. */
export type TableCondition = Filter | string;

/** An index or a unique set of columns, in the declaration of a table. */
export interface IndexPart extends Extract<TablePart, { readonly kind: "index" | "unique" }> {
  /** Sets the name in the database. By default, it contains the names of the table and columns. */
  as(name: string): IndexPart;
  /** Limits the index or unique set to rows that match the condition. */
  where(condition: TableCondition): IndexPart;
}

/** A check in the declaration of a table. */
export interface CheckPart extends Extract<TablePart, { readonly kind: "check" }> {
  /** Sets the name in the database. By default, it contains a hash of the condition. */
  as(name: string): CheckPart;
}

/** Declares an index over columns, in the third argument of `table()`. */
export function index(...columns: readonly ColumnLike<unknown>[]): IndexPart {
  return indexPart("index", columns, { name: null, rows: null });
}

/** Declares columns that are unique together, in the third argument of `table()`. */
export function unique(...columns: readonly ColumnLike<unknown>[]): IndexPart {
  return indexPart("unique", columns, { name: null, rows: null });
}

/**
 * Declares a condition that every row must meet, in the third argument of `table()`: SQL, or a
 * filter, which works on every engine. As in SQL, a condition that is unknown due to NULL is met.
 */
export function check(condition: TableCondition): CheckPart {
  return checkPart(sqlCondition(condition), null);
}

/** Declares a foreign key of several columns, in the third argument of `table()`. */
export function foreignKey(
  columns: readonly ColumnLike<unknown>[],
  references: () => readonly ColumnLike<unknown>[],
  options: ReferenceOptions = {},
): ForeignKeyPart {
  requireColumns("a foreign key", columns);
  return Object.freeze({
    kind: "foreignKey",
    columns,
    references,
    actions: readForeignKeyActions(options),
  });
}

/**
 * Declares the former name of the table, in the third argument of `table()`.
 *
 * @example
 * ```ts
 * import { formerly, integer, table } from "@svc/resource-api";
 *
 * const people = table("people", { id: integer().primaryKey() }, () => [formerly("persons")]);
 * ```
 */
export function formerly(name: string): TablePart {
  return Object.freeze({ kind: "formerName", name });
}

function indexPart(
  kind: "index" | "unique",
  columns: readonly ColumnLike<unknown>[],
  given: { readonly name: string | null; readonly rows: SqlCondition | null },
): IndexPart {
  requireColumns(kind === "index" ? "an index" : "a unique set", columns);
  return Object.freeze({
    ...{ kind, columns, ...given },
    as: (name: string) => indexPart(kind, columns, { ...given, name }),
    where: (condition: TableCondition) =>
      indexPart(kind, columns, { ...given, rows: sqlCondition(condition) }),
  });
}

function checkPart(condition: SqlCondition, name: string | null): CheckPart {
  return Object.freeze({
    ...{ kind: "check", condition, name },
    as: (name: string) => checkPart(condition, name),
  });
}

function requireColumns(what: string, columns: readonly unknown[]): void {
  if (columns.length === 0) throw new Error(`Cannot declare ${what} without columns`);
}

function sqlCondition(condition: TableCondition): SqlCondition {
  if (typeof condition !== "string") {
    requirePlain(condition);
    return new WrittenFilter(condition);
  }
  if (condition.trim() === "") throw new Error("Cannot declare a condition without SQL");
  return condition;
}

/** Converts a filter to SQL without bound parameters, which a table definition cannot have. */
class WrittenFilter implements ConditionWriter {
  readonly #filter: Filter;

  constructor(filter: Filter) {
    this.#filter = filter;
  }

  write(dialect: Dialect): string {
    const { texts, values } = compileFilter(this.#filter, dialect);
    // The SQLite dialect can put `+` before a bound value, which a definition does not need.
    const plain = texts.map((text) => text.replace(/\+$/, ""));
    return plain.reduce((text, after, index) =>
      `${text}${sqlLiteral(values[index - 1] ?? null, dialect)}${after}`
    );
  }
}

function requirePlain(filter: Filter): void {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.terms.forEach(requirePlain);
    case "compare":
      if (filter.path === undefined && plainOperators.has(filter.operator)) return;
      throw new Error(
        `Cannot declare a condition by ${filter.operator.symbols[0]}: write it in SQL`,
      );
    case "related":
      throw new Error("Cannot declare a condition on related rows");
    case "not":
      throw new Error("Cannot declare a condition by not(): write it in SQL");
    case "all":
    case "none":
      throw new Error(
        "Cannot declare a condition that is the same for all rows: is a value missing, or none of its column?",
      );
  }
}

const plainOperators: ReadonlySet<Operator> = new Set([
  ...[equalOperator, notEqualOperator, inOperator, outOperator, isNullOperator],
  ...[greaterOperator, greaterOrEqualOperator, lessOperator, lessOrEqualOperator],
  ...[betweenOperator, notBetweenOperator],
]);
