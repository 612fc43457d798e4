import type { SqlValue } from "../sql/fragment.ts";
import type { Connection } from "./driver.ts";

/** The columns of a handwritten select list by name, so that code is independent of their order. */
export interface NamedColumns<Name extends string> {
  /** The SQL of the columns after SELECT. */
  readonly selectList: string;
  /** Returns the cells of a row by name. The cells are in the order of the select list. */
  decode(cells: readonly SqlValue[]): NamedCells<Name>;
}

/** The cells of a row by the names of their columns in a handwritten select list. */
export type NamedCells<Name extends string> = Readonly<Record<Name, SqlValue>>;

/** Creates a select list of named columns. `columns` contains the SQL of each column by name. */
export function namedColumns<Name extends string>(
  columns: Readonly<Record<Name, string>>,
): NamedColumns<Name> {
  // The keys of a Record are its names, but `Object.keys` has a wider type.
  const names = Object.keys(columns) as Name[];
  return {
    selectList: names.map((name) => `${columns[name]} AS "${name}"`).join(", "),
    decode(cells) {
      // The loop sets the cell of every name.
      const row = {} as Record<Name, SqlValue>;
      names.forEach((name, index) => row[name] = cells[index] ?? null);
      return row;
    },
  };
}

/** Runs a SELECT of named columns. `rest` is the SQL after the select list, from FROM on. */
export async function selectNamed<Name extends string>(
  connection: Connection,
  columns: Readonly<Record<Name, string>>,
  rest = "",
  ...values: readonly SqlValue[]
): Promise<readonly NamedCells<Name>[]> {
  const { selectList, decode } = namedColumns(columns);
  const { rows } = await connection.query({ text: `SELECT ${selectList} ${rest}`, values });
  return rows.map(decode);
}

/** Returns the cell of a named column if it is a string, or null for any other value. */
export function textOrNull(cell: SqlValue): string | null {
  return typeof cell === "string" ? cell : null;
}
