import type { Database } from "../../mod.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { type TableName, tableNames, tables } from "./tables.ts";

export type Row = Readonly<Record<string, unknown>>;
export type State = Readonly<Record<TableName, readonly Row[]>>;
/** Who calls; null is anonymous. */
export type Caller = string | null;

/** The columns of a table by their names, and what they are called in the database. */
export const columnsOf = (name: TableName) => tableInfoOf(tables[name]).columns;

/** The primary key of a row as a text, as it stands in a path. */
export const keyOf = (name: TableName, row: Row): string =>
  name === "taggings" ? `${row["taskId"]},${row["labelId"]}` : String(row["id"]);

export const byKey = (name: TableName) => (left: Row, right: Row): number => {
  if (name !== "taggings") return Number(left["id"]) - Number(right["id"]);
  const difference = Number(left["taskId"]) - Number(right["taskId"]);
  return difference === 0 ? Number(left["labelId"]) - Number(right["labelId"]) : difference;
};

export const find = (state: State, name: TableName, key: string): Row | undefined =>
  state[name].find((row) => keyOf(name, row) === key);

/** The state with other rows of one table, in the order of their keys. */
export const withRows = (state: State, name: TableName, rows: readonly Row[]): State => ({
  ...state,
  [name]: rows.toSorted(byKey(name)),
});

/** The state with one row added, or in the place of the row with its key. */
export const put = (state: State, name: TableName, row: Row): State =>
  withRows(state, name, [
    ...state[name].filter((other) => keyOf(name, other) !== keyOf(name, row)),
    row,
  ]);

export const drop = (state: State, name: TableName, gone: readonly Row[]): State =>
  withRows(state, name, state[name].filter((row) => !gone.includes(row)));

/** What the tables hold, by plain SQL. */
export async function readState({ driver }: Database): Promise<State> {
  const state: Partial<Record<TableName, readonly Row[]>> = {};
  for (const name of tableNames) {
    const columns = columnsOf(name);
    const list = columns.map(({ dbName }) => `"${dbName}"`).join(", ");
    const { rows } = await driver.query({ text: `SELECT ${list} FROM "${name}"`, values: [] });
    state[name] = rows.map((cells) =>
      Object.fromEntries(columns.map(({ name, kind }, index) => {
        const cell = cells[index] ?? null;
        if (cell === null || kind === "text") return [name, cell];
        if (kind === "boolean") return [name, [true, 1, 1n, "t", "true"].includes(cell as string)];
        return [name, Number(cell)];
      }))
    ).toSorted(byKey(name));
  }
  // Every table was read.
  return state as State;
}
