import { type ColumnInfo, createTableInfo, type TableInfo } from "../../schema/table_info.ts";
import type { StandardSchema } from "../../schema/standard_schema.ts";
import type { Connection } from "../driver.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { identifier, join, sql, sqlName, tableName } from "../../sql/fragment.ts";

/** The name of a function, a type or a table, with its schema. */
export interface QualifiedName {
  /** The schema; null for the default schema. */
  readonly schema: string | null;
  /** The name without the schema. */
  readonly name: string;
}

/** A function of the database that a procedure can call. */
export interface DatabaseFunction extends QualifiedName {
  /** The comment on the function; null for none. */
  readonly description: string | null;
  /** True if the function changes nothing (STABLE, IMMUTABLE), so that GET can call it. */
  readonly isQuery: boolean;
  /** True if the function runs with the rights of its owner (SECURITY DEFINER). */
  readonly isDefiner: boolean;
  /** The arguments that a caller can pass, in the order of the declaration. */
  readonly args: readonly FunctionArgument[];
  /** The media type of the request body if the body is the only argument; null otherwise. */
  readonly bodyType: string | null;
  /** The result of a call. */
  readonly result: FunctionResult;
  /** Other functions with this name. The argument names in a call decide which function runs. */
  readonly overloads: readonly DatabaseFunction[];
}

/** An argument of a function. */
export interface FunctionArgument {
  /** The name and the type of the argument, in the form of a column. The name can be empty. */
  readonly column: ColumnInfo;
  /** The type of the argument in the database. */
  readonly type: QualifiedName;
  /** True if a call can omit the argument, because it has a default. */
  readonly isOptional: boolean;
  /** True if the argument is VARIADIC, which is passed as a list. */
  readonly isVariadic: boolean;
}

/** The result of a function. */
export interface FunctionResult {
  /** The form: nothing, one value, one row, or any number of rows. */
  readonly kind: "void" | "value" | "row" | "rows";
  /** The columns of the result. A value is one column. */
  readonly columns: readonly ColumnInfo[];
  /** The table whose rows the function returns; null for other results. */
  readonly table: QualifiedName | null;
}

/** The values of a call's arguments. An omitted argument has no entry. */
export type FunctionArguments = ReadonlyMap<FunctionArgument, unknown>;

/**
 * Sets limits if the function only reads. Returns false if the role may not call the function:
 * Postgres does not check this when it reuses another role's plan of an inlined function.
 */
export async function prepareCall(
  { schema, name, args, isQuery }: DatabaseFunction,
  timeoutMs: number,
  connection: Connection,
): Promise<boolean> {
  const signature = `${sqlName({ schema, name })}(${args.map(({ type }) => sqlName(type))})`;
  const limits = `, set_config('transaction_read_only', 'on', true),
    set_config('synchronize_seqscans', 'off', true), set_config('statement_timeout', $2, true)`;
  const { rows } = await connection.query({
    // For a dropped function, true: the call then fails, and the service reads the schema again.
    text: `SELECT coalesce(has_function_privilege(to_regprocedure($1), 'EXECUTE'), true)${
      isQuery ? limits : ""
    }`,
    values: [signature, ...(isQuery ? [String(Math.ceil(timeoutMs))] : [])],
    changesSession: true,
  });
  return rows[0]?.[0] === "t";
}

export function tableOfCall(
  { name, schema, args, result: { columns, kind } }: DatabaseFunction,
  values: FunctionArguments,
  served: TableInfo | null,
  dialect: Dialect,
): TableInfo {
  const areInOrder = args.some(({ isVariadic }) => isVariadic);
  const passed = args.filter((one) => values.has(one)).map((one) => {
    const { column, type, isVariadic } = one;
    const value = sql`CAST(${dialect.encode(values.get(one), column)} AS ${tableName(type)})`;
    // A variadic function gets its arguments in order, so none of them is passed by name.
    if (isVariadic) return sql`VARIADIC ${value}`;
    if (column.dbName === "" || areInOrder) return value;
    return sql`${identifier(column.dbName)} => ${value}`;
  });
  const call = sql`${tableName({ schema, name })}(${join(passed, ", ")})`;
  // In FROM, Postgres turns the result NULL into a row of NULLs, which this condition removes.
  const found = sql`(SELECT * FROM ${call} AS _call WHERE NOT (_call.* IS NULL))`;
  const rows = kind === "row" ? found : call;
  const base = served ?? createTableInfo({
    ...{ name, schema, columns, foreignKeys: [], own: false, readOnly: true },
  });
  // Not distinct: a function can return a row twice, or different rows with equal keys.
  const facts = { schema: null, rows, distinct: false, recordable: false, refreshLabels: null };
  return Object.freeze({ ...base, ...facts, keepsOrder: true });
}

/** The procedure that calls a function. A program can add other members, such as `public`. */
export interface FunctionProcedure {
  /** Accepts every value. The service checks the arguments itself. */
  readonly input: StandardSchema;
  /** Accepts every value. */
  readonly output: StandardSchema;
  /** Is never called, because the service calls the function instead. */
  readonly handler: () => never;
  /** The called function. */
  readonly databaseFunction: DatabaseFunction;
}

export function functionProcedures(
  functions: readonly DatabaseFunction[],
): Readonly<Record<string, FunctionProcedure>> {
  const any: StandardSchema = {
    "~standard": { version: 1, vendor: "resource-api", validate: (value) => ({ value }) },
  };
  const handler = () => {
    throw new Error("A function of the database has no handler");
  };
  return Object.fromEntries(functions.map((databaseFunction) => [
    databaseFunction.name,
    { input: any, output: any, handler, databaseFunction },
  ]));
}
