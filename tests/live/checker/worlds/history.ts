import type { Connection } from "../../../../src/db/driver.ts";
import type { Dialect } from "../../../../src/sql/dialect.ts";
import type { SqlValue } from "../../../../src/sql/fragment.ts";
import { type Place, placeNames, readableColumns, tableNames } from "./tables.ts";

/** The readable values of a row, as they stand in answers. The same object for as long as it is the same. */
export type Row = Readonly<Record<string, string | number | boolean | null>>;

/** All rows of all tables at one moment. */
export interface State extends Readonly<Record<Place, ReadonlyMap<number, Row>>> {
  /** A moment within a transaction, which no list could show. */
  readonly isInner: boolean;
}

/**
 * Every moment between two commits, read from the tables themselves: the checker makes all commits
 * one after the other. It knows nothing of the log.
 */
export class History {
  readonly #states: State[] = [];
  readonly #dialect: Dialect;
  readonly #elapsedMs: () => number;
  /** When each was, by the time of the services. */
  readonly #times: number[] = [];
  /** What was read last, so that what is still the same is the same object. */
  readonly #known: Readonly<
    Record<Place, Map<number, { readonly text: string; readonly row: Row }>>
  > = {
    projects: new Map(),
    items: new Map(),
    notes: new Map(),
    tags: new Map(),
    itemTags: new Map(),
  };

  /** Has seen nothing. */
  constructor(dialect: Dialect, elapsedMs: () => number) {
    this.#dialect = dialect;
    this.#elapsedMs = elapsedMs;
  }

  /** The last moment. */
  get now(): number {
    return this.#states.length - 1;
  }

  /** The moment that was so long ago. */
  ago(ms: number): number {
    const then = this.#elapsedMs() - ms;
    return Math.max(0, this.#times.findLastIndex((time) => time <= then));
  }

  /** What the tables held then. */
  at(index: number): State {
    const state = this.#states[index];
    if (state === undefined) throw new Error(`There is no moment ${index}`);
    return state;
  }

  /** Adds the moments within a transaction, and the one after it. */
  add(inner: readonly State[], state: State): void {
    for (const one of [...inner, state]) {
      this.#states.push(one);
      this.#times.push(this.#elapsedMs());
    }
  }

  /** What the tables hold, as a connection sees it. */
  async read(connection: Connection, isInner = false): Promise<State> {
    const tables = this.#dialect.engine === "sqlite"
      ? await readSqlite(connection)
      : await readPostgres(connection);
    const read = (place: Place) => {
      const known = this.#known[place];
      const rows = new Map<number, Row>();
      for (const cells of tables[place]) {
        const text = cells.join("\u0001");
        const id = Number(cells[0]);
        const last = known.get(id);
        const row = last?.text === text ? last.row : rowOf(cells, place);
        if (last?.text !== text) known.set(id, { text, row });
        rows.set(id, row);
      }
      return rows;
    };
    return {
      isInner,
      projects: read("projects"),
      items: read("items"),
      notes: read("notes"),
      tags: read("tags"),
      itemTags: read("itemTags"),
    };
  }
}

type Cells = readonly (SqlValue | boolean)[];
type Tables = Readonly<Record<Place, readonly Cells[]>>;

async function readSqlite(connection: Connection): Promise<Tables> {
  const tables: Partial<Record<Place, readonly Cells[]>> = {};
  for (const place of placeNames) {
    const columns = readableColumns[place].map(([_wire, name]) => name).join(", ");
    const text = `SELECT ${columns} FROM ${tableNames[place]}`;
    tables[place] = (await connection.query({ text, values: [] })).rows;
  }
  // All places are in it now.
  return tables as Tables;
}

/** One statement: a connection to Postgres is far away. */
async function readPostgres(connection: Connection): Promise<Tables> {
  const parts = placeNames.map((place) => {
    const columns = readableColumns[place].map(([_wire, name]) =>
      ["price", "far"].includes(name) ? `${name}::text` : name
    );
    return `'${place}', (SELECT coalesce(json_agg(json_build_array(${
      columns.join(", ")
    })), '[]') FROM ${tableNames[place]})`;
  });
  const text = `SELECT json_build_object(${parts.join(", ")})::text`;
  const { rows: [[json] = []] } = await connection.query({ text, values: [] });
  return JSON.parse(String(json));
}

function rowOf(cells: Cells, place: Place): Row {
  return Object.fromEntries(
    readableColumns[place].map((
      [name],
      index,
    ) => [name, wireValue(name, cells[index] ?? null)]),
  );
}

/** A stored value as an answer shows it. */
function wireValue(name: string, value: Cells[number]): Row[string] {
  if (value === null) return null;
  if (name === "price") return Number(value).toFixed(2);
  if (name === "far") return String(value);
  if (name === "flag") return value === true || Number(value) === 1;
  return typeof value === "string" ? value : Number(value);
}
