import { type Compile, createCompiler } from "../compile/compile.ts";
import type {
  CountPlan,
  EstimatePlan,
  InsertPlan,
  ReadPlan,
  RelatedPlan,
  UpdatePlan,
} from "../plan/plan.ts";
import type { ColumnInfo, Row } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { SqlValue } from "../sql/fragment.ts";
import type { Connection } from "./driver.ts";

/** Told of a stored value that does not fit the kind of its column. */
export type Misfit = (column: ColumnInfo) => void;

/** Turns plans into statements and what they answer into rows, for one table and engine. */
export interface RowReader {
  readonly dialect: Dialect;
  readonly compile: Compile;
  readonly misfit: Misfit;
  /** Cells in the order of `columns` → the row as it is in process. */
  toRows(
    cells: readonly (readonly SqlValue[])[],
    columns: readonly ColumnInfo[],
  ): readonly Row[];
}

/** Rows as they are in process, and the stored values they were made of, column by column. */
export interface FetchedRows {
  readonly rows: readonly Row[];
  readonly stored: readonly (readonly SqlValue[])[];
}

/** Runs a plan that answers with rows. */
export function fetchRows(
  connection: Connection,
  plan: ReadPlan | InsertPlan | UpdatePlan,
  reader: RowReader,
): Promise<FetchedRows> {
  const columns = plan.kind === "read" ? plan.columns : plan.returning;
  return connection.query(reader.compile(plan)).then(({ rows }) => ({
    rows: reader.toRows(rows, columns),
    stored: rows,
  }));
}

/** Related rows as they are in process, and for each the place of its key among those of the plan. */
export interface RelatedRows {
  readonly rows: readonly Row[];
  readonly places: readonly number[];
}

/** Runs a plan that answers with rows related to others: those of one key together, in order. */
export async function fetchRelated(
  connection: Connection,
  plan: RelatedPlan,
  reader: RowReader,
): Promise<RelatedRows> {
  const { rows } = await connection.query(reader.compile(plan));
  // The place stands behind the columns.
  const places = rows.map((cells) => Number(cells[plan.columns.length]));
  return { rows: reader.toRows(rows, plan.columns), places: places };
}

/** Runs a plan that answers with a number. */
export async function fetchCount(
  connection: Connection,
  plan: CountPlan,
  reader: RowReader,
): Promise<number> {
  const { rows } = await connection.query(reader.compile(plan));
  return Number(rows[0]?.[0] ?? 0);
}

/** Runs a plan that answers with a guess; null where the engine has none. */
export async function fetchEstimate(
  connection: Connection,
  plan: EstimatePlan,
  reader: RowReader,
): Promise<number | null> {
  const { rows } = await connection.query(reader.compile(plan));
  return reader.dialect.estimate?.parse(rows[0]?.[0] ?? null) ?? null;
}

/** Makes a {@link RowReader}; it remembers how to read the column lists it has met. */
export function createRowReader(dialect: Dialect, misfit: Misfit): RowReader {
  const known = new WeakMap<readonly ColumnInfo[], readonly CellReader[]>();

  function readersOf(columns: readonly ColumnInfo[]): readonly CellReader[] {
    const readers = known.get(columns) ??
      columns.map((column) => cellReader(column, dialect, misfit));
    known.set(columns, readers);
    return readers;
  }

  return {
    dialect,
    compile: createCompiler(dialect),
    misfit,
    toRows(cells, columns) {
      const readers = readersOf(columns);
      return cells.map((row) => toRow(row, readers));
    },
  };
}

interface CellReader {
  readonly name: string;
  read(value: Exclude<SqlValue, null>): unknown;
}

function cellReader(column: ColumnInfo, dialect: Dialect, misfit: Misfit): CellReader {
  const { name } = column;
  const decode = (value: SqlValue) => dialect.decode(value, column, misfit);
  // Most cells are what they look like: a page is read in half the time without asking further.
  if (column.kind === "text") {
    return { name, read: (value) => typeof value === "string" ? value : decode(value) };
  }
  if (column.kind === "integer") {
    return { name, read: (value) => Number.isSafeInteger(value) ? value : decode(value) };
  }
  return { name, read: decode };
}

function toRow(cells: readonly SqlValue[], readers: readonly CellReader[]): Row {
  const row: Record<string, unknown> = {};
  let index = 0;
  for (const { name, read } of readers) {
    const cell = cells[index++] ?? null;
    row[name] = cell === null ? null : read(cell);
  }
  return row;
}
