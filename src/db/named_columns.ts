import type { SqlValue } from "../sql/fragment.ts";
import type { Connection } from "./driver.ts";

export interface NamedColumn<Value> {
  readonly sql: string;
  readonly read: (cell: SqlValue) => Value;
}

/** The columns of a handwritten select list. A string is SQL whose result is not converted. */
export type NamedColumns = Readonly<Record<string, string | NamedColumn<unknown>>>;

export type NamedRow<Columns extends NamedColumns> = {
  readonly [Name in keyof Columns]: Columns[Name] extends NamedColumn<infer Value> ? Value
    : SqlValue;
};

/** Creates a select list of named columns, so that no code depends on the order of the columns. */
export function namedColumns<Columns extends NamedColumns>(columns: Columns) {
  const all = Object.entries(columns).map(([name, column]) =>
    typeof column === "string"
      ? { name, sql: column, read: (cell: SqlValue): unknown => cell }
      : { name, ...column }
  );
  return {
    selectList: all.map(({ name, sql }) => `${sql} AS "${name}"`).join(", "),
    decode(cells: readonly SqlValue[]): NamedRow<Columns> {
      const row: Record<string, unknown> = {};
      all.forEach(({ name, read }, index) => row[name] = read(cells[index] ?? null));
      // The cast is safe: every column sets the value of its name.
      return row as NamedRow<Columns>;
    },
  };
}

/** Runs a SELECT of named columns. `rest` is the SQL after the select list, from FROM on. */
export async function selectNamed<Columns extends NamedColumns>(
  connection: Connection,
  columns: Columns,
  rest = "",
  ...values: readonly SqlValue[]
): Promise<readonly NamedRow<Columns>[]> {
  const { selectList, decode } = namedColumns(columns);
  const { rows } = await connection.query({ text: `SELECT ${selectList} ${rest}`, values });
  return rows.map(decode);
}

export const cell = {
  text: (sql: string): NamedColumn<string> => ({ sql, read: String }),
  textOrNull: (sql: string): NamedColumn<string | null> => ({ sql, read: textOrNull }),
  number: (sql: string): NamedColumn<number> => ({ sql, read: Number }),
  /** A boolean, which Postgres sends as `t` and SQLite as 1. */
  flag: (sql: string): NamedColumn<boolean> => ({
    sql,
    read: (given) => given === "t" || given === 1,
  }),
  list: <Item = string>(sql: string): NamedColumn<readonly Item[]> => ({
    sql,
    read: (given) => given === null ? [] : JSON.parse(String(given)),
  }),
};

export function textOrNull(cell: SqlValue): string | null {
  return typeof cell === "string" ? cell : null;
}
