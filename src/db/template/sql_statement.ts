import { columnInfoOf, type ColumnLike, type ServedValue } from "../../schema/table_like.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { Connection } from "../driver.ts";
import { flattenTemplate, partsOf, type SqlTemplate, ValueOfColumn } from "./sql_parts.ts";
import { type SqlPlans, statementOf } from "./sql_plan.ts";

/** The result of a statement of `db.sql`. */
export interface SqlResult<R> {
  /** The rows as objects, with values as in JSON responses. The caller can modify these objects. */
  readonly rows: R[];
  /** The number of rows inserted, updated or deleted. 0 for a read. */
  readonly changed: number;
}

/** A statement of `db.sql`. It runs once, when it is awaited, unless a template contains it. */
export class SqlStatement<R> implements PromiseLike<SqlResult<R>> {
  readonly #template: SqlTemplate;
  readonly #run: (template: SqlTemplate) => Promise<SqlResult<R>>;
  #result: Promise<SqlResult<R>> | null = null;

  /** Internal. Programs call `db.sql`. */
  constructor(template: SqlTemplate, run: (template: SqlTemplate) => Promise<SqlResult<R>>) {
    this.#template = template;
    this.#run = run;
  }

  /** Runs the statement. Rejects with a `DatabaseError`, or an Error for a mistake in the SQL. */
  then<T = SqlResult<R>, F = never>(
    onfulfilled?: ((result: SqlResult<R>) => T | PromiseLike<T>) | null,
    onrejected?: ((reason: unknown) => F | PromiseLike<F>) | null,
  ): Promise<T | F> {
    return (this.#result ??= this.#run(this.#template)).then(onfulfilled, onrejected);
  }

  /** Returns the template if the value is a statement, otherwise null. */
  static templateOf(value: unknown): SqlTemplate | null {
    return typeof value === "object" && value !== null && #template in value
      ? value.#template
      : null;
  }
}

/** The template tag that runs statements in a database or in a transaction. */
export interface SqlTag {
  /**
   * Creates a statement. Tables and columns are interpolated as quoted names, and everything else
   * as values or conditions. `R` is the type of a row.
   */
  <R extends object = Record<string, unknown>>(
    strings: TemplateStringsArray,
    ...parts: readonly (string | number | bigint | boolean | object | null)[]
  ): SqlStatement<R>;
  /** Binds a value in the format of `column`, where the SQL does not compare it with the column. */
  value<T>(column: ColumnLike<T>, value: NoInfer<T> | ServedValue<NoInfer<T>> | null): object;
}

export function createSqlTag(connection: Connection, dialect: Dialect, plans: SqlPlans): SqlTag {
  const tag = <R extends object>(
    strings: TemplateStringsArray,
    ...values: readonly unknown[]
  ): SqlStatement<R> => {
    requireTemplate(strings);
    return new SqlStatement<R>(
      { strings, values },
      (template) => run<R>(template, connection, dialect, plans),
    );
  };
  return Object.assign(tag, {
    value: (column: ColumnLike<unknown>, value: unknown) =>
      new ValueOfColumn(columnInfoOf(column), value),
  });
}

/** Requires a template, because a concatenated string could contain input from a user. */
function requireTemplate(strings: unknown): void {
  if (typeof strings === "object" && strings !== null && "raw" in strings) return;
  throw new Error("Cannot run this as SQL: write it as a template without brackets, db.sql`…`");
}

async function run<R extends object>(
  template: SqlTemplate,
  connection: Connection,
  dialect: Dialect,
  plans: SqlPlans,
): Promise<SqlResult<R>> {
  const { parts, shape } = partsOf(template, SqlStatement.templateOf);
  const plan = plans.planOf(
    template.strings,
    shape,
    () => flattenTemplate(template, parts, SqlStatement.templateOf),
  );
  const result = await connection.query(statementOf(plan, parts, dialect));
  // With the type parameter, the caller asserts which columns the statement selects.
  const rows = plan.toObjects(result, dialect) as R[];
  return { rows, changed: result.changed };
}
