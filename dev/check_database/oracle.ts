/** Plain SQL by the library of the database, without code of the service. */
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import postgres from "postgres";

/** A table as the database names it. */
export interface OracleTable {
  readonly schema: string | null;
  readonly name: string;
}

/** A stored value. A value of Postgres is its text form. */
export type Cell = null | number | bigint | string | Uint8Array;

/** A condition on one column. */
export interface Condition {
  readonly column: string;
  readonly operator: "=" | "<>" | "<" | ">=" | "IN" | "IS NULL";
  readonly values: readonly Cell[];
}

/** A plain SELECT of one table. */
export interface Selection {
  readonly table: OracleTable;
  readonly columns: readonly string[];
  readonly where: readonly Condition[];
  /** The columns of the order with their directions. */
  readonly order: readonly { readonly column: string; readonly descending: boolean }[];
  readonly limit: number;
}

/** The results of plain SQL. */
export interface Oracle {
  select(selection: Selection): Promise<readonly (readonly Cell[])[]>;
  count(table: OracleTable, where: readonly Condition[]): Promise<number>;
  close(): Promise<void>;
}

/** Opens the database of a path or a URL, read-only. */
export async function openOracle(place: string): Promise<Oracle> {
  if (/^postgres(ql)?:/.test(place)) return await openPostgres(place);
  if (/^pglite:/.test(place)) {
    throw new Error("Cannot check a PGlite folder: it has one connection");
  }
  return openSqlite(place.replace(/^(node-)?sqlite:(\/\/)?/, ""));
}

/** Returns true if SQL cannot compare values, because of their type or a custom collation. */
export function isIncomparable(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === undefinedFunction ||
    error instanceof Error && /no such collation/.test(error.message);
}

const undefinedFunction = "42883";

function openSqlite(path: string): Oracle {
  const db = new DatabaseSync(path, { readOnly: true });
  const nameOf = ({ name }: OracleTable) => quote(name);
  // The service distinguishes strings that a collation treats as equal, and orders by both.
  const condition = ({ column, operator, values }: Condition) =>
    written(
      operator === "<" || operator === ">=" ? quote(column) : `${quote(column)} COLLATE BINARY`,
      operator,
      values.map(() => "?"),
    );
  function run(text: string, values: readonly Cell[]): (readonly Cell[])[] {
    const statement = db.prepare(text);
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    // The cast is safe: with arrays, rows have this form, but the library's types do not say so.
    return statement.all(...values as SQLInputValue[]) as unknown as Cell[][];
  }
  return {
    select: ({ table, columns, where, order, limit }) => {
      const text = `SELECT ${columns.map(quote).join(", ")} FROM ${nameOf(table)}${
        whereOf(where.map(condition))
      }${
        orderOf(order.map(({ column, descending }) =>
          `${quote(column)}${descending ? " DESC" : ""} NULLS LAST`
        ))
      } LIMIT ${limit}`;
      return Promise.resolve(run(text, where.flatMap(({ values }) => values)));
    },
    count: (table, where) => {
      const text = `SELECT count(*) FROM ${nameOf(table)}${whereOf(where.map(condition))}`;
      return Promise.resolve(Number(run(text, where.flatMap(({ values }) => values))[0]?.[0]));
    },
    close: () => Promise.resolve(db.close()),
  };
}

async function openPostgres(url: string): Promise<Oracle> {
  const client = postgres(url, { max: 1, onnotice: () => {}, connection: { TimeZone: "UTC" } });
  const nameOf = ({ schema, name }: OracleTable) =>
    schema === null ? quote(name) : `${quote(schema)}.${quote(name)}`;
  const types = new Map<string, ReadonlyMap<string, string>>();
  async function typesOf(table: OracleTable): Promise<ReadonlyMap<string, string>> {
    const known = types.get(nameOf(table));
    if (known !== undefined) return known;
    const rows = await client.unsafe(
      `SELECT attname, format_type(atttypid, -1) FROM pg_attribute
       WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
      [nameOf(table)],
    ).values();
    const found = new Map(rows.map(([name, type]) => [String(name), String(type)]));
    types.set(nameOf(table), found);
    return found;
  }
  async function conditionsOf(table: OracleTable, where: readonly Condition[]) {
    const found = await typesOf(table);
    let place = 0;
    return where.map(({ column, operator, values }) => {
      const type = found.get(column) ?? "text";
      return written(quote(column), operator, values.map(() => `$${++place}::text::${type}`));
    });
  }
  async function run(text: string, values: readonly Cell[]) {
    // The cast is safe: values are bound as strings, and the statement casts them.
    const rows = await client.unsafe(text, values as string[]).values();
    return rows.map((row) => [...row] as Cell[]);
  }
  await client.unsafe("SET default_transaction_read_only = on");
  return {
    async select({ table, columns, where, order, limit }) {
      const text = `SELECT ${columns.map((name) => `${quote(name)}::text`).join(", ")} FROM ${
        nameOf(table)
      } AS t${whereOf(await conditionsOf(table, where))}${
        orderOf(order.map(({ column, descending }) =>
          // Without the table, the name would refer to the string in the select list.
          `t.${quote(column)}${descending ? " DESC" : ""} NULLS LAST`
        ))
      } LIMIT ${limit}`;
      return await run(text, where.flatMap(({ values }) => values));
    },
    async count(table, where) {
      const conditions = whereOf(await conditionsOf(table, where));
      const text = `SELECT count(*)::text FROM ${nameOf(table)}${conditions}`;
      return Number((await run(text, where.flatMap(({ values }) => values)))[0]?.[0]);
    },
    close: () => client.end(),
  };
}

function written(operand: string, operator: Condition["operator"], places: readonly string[]) {
  // `IS NULL` is also true for a composite value whose members are all NULL.
  if (operator === "IS NULL") return `${operand} IS NOT DISTINCT FROM NULL`;
  return operator === "IN"
    ? `${operand} IN (${places.join(", ")})`
    : `${operand} ${operator} ${places[0]}`;
}

function whereOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
}

function orderOf(keys: readonly string[]): string {
  return keys.length === 0 ? "" : ` ORDER BY ${keys.join(", ")}`;
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
