import { type CompilePlan, createCompiler } from "../compile/compile.ts";
import type {
  CountPlan,
  EstimatePlan,
  InsertPlan,
  ReadPlan,
  RelatedPlan,
  SearchPlan,
  UpdatePlan,
} from "../plan/plan.ts";
import { chain, type MaybePromise } from "../runtime/maybe_promise.ts";
import type { ColumnInfo, Row, TableInfo } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { SqlValue } from "../sql/fragment.ts";
import type { Connection } from "./driver.ts";

export type OnInvalidValue = (column: ColumnInfo) => void;

export interface RowReader {
  readonly dialect: Dialect;
  readonly compile: CompilePlan;
  readonly onInvalidValue: OnInvalidValue;
  toRows(cells: readonly (readonly SqlValue[])[], columns: readonly ColumnInfo[]): readonly Row[];
}

export interface FetchedRows {
  readonly rows: readonly Row[];
  readonly stored: readonly (readonly SqlValue[])[];
}

/** Fetches the rows of a plan. `check` gets the values before they are decoded, and can throw. */
export function fetchRows(
  connection: Connection,
  plan: ReadPlan | InsertPlan | UpdatePlan,
  reader: RowReader,
  check?: (stored: FetchedRows["stored"]) => void,
): MaybePromise<FetchedRows> {
  const columns = plan.kind === "read" ? plan.columns : plan.returning;
  return chain(connection.query(reader.compile(plan)), ({ rows }) => {
    check?.(rows);
    return { rows: reader.toRows(rows, columns), stored: rows };
  });
}

/**
 * Fetches the rows that are related to the keys in the plan. Rows of the same key are adjacent.
 * `places` has the index of each row's key in the plan. In `stored`, this index is the last cell.
 */
export async function fetchRelated(
  connection: Connection,
  plan: RelatedPlan,
  reader: RowReader,
) {
  const { rows } = await connection.query(reader.compile(plan));
  const places = rows.map((cells) => Number(cells[plan.columns.length]));
  return { rows: reader.toRows(rows, plan.columns), places, stored: rows };
}

export interface FoundRows extends FetchedRows {
  readonly total: number;
}

/** Fetches a page of found rows. If the page is past the last row, another read gets the total. */
export async function fetchFound(
  connection: Connection,
  plan: SearchPlan,
  reader: RowReader,
  check: (stored: FetchedRows["stored"]) => void,
): Promise<FoundRows> {
  const { columns, offset } = plan;
  const { rows: stored } = await connection.query(reader.compile(plan));
  check(stored);
  const [first] = stored;
  if (first === undefined && offset > 0) {
    const begin = { ...plan, columns: plan.table.primaryKey, offset: 0, limit: 1 };
    const { total } = await fetchFound(connection, begin, reader, () => {});
    return { rows: [], stored, total };
  }
  return {
    rows: reader.toRows(stored, columns),
    stored,
    // The cell after the columns is the total number of rows.
    total: Number(first?.[columns.length] ?? 0),
  };
}

export function fetchCount(
  connection: Connection,
  plan: CountPlan,
  reader: RowReader,
): MaybePromise<number> {
  return chain(connection.query(reader.compile(plan)), ({ rows }) => Number(rows[0]?.[0] ?? 0));
}

export async function fetchEstimate(
  connection: Connection,
  plan: EstimatePlan,
  reader: RowReader,
): Promise<number | null> {
  const { rows } = await connection.query(reader.compile(plan));
  return reader.dialect.estimate?.parse(rows[0]?.[0] ?? null) ?? null;
}

export function createRowReader(
  dialect: Dialect,
  onInvalidValue: OnInvalidValue,
  conflicting?: ReadonlySet<TableInfo>,
): RowReader {
  const known = new WeakMap<readonly ColumnInfo[], RowDecoder>();

  return {
    dialect,
    compile: createCompiler(dialect, conflicting),
    onInvalidValue,
    toRows(cells, columns) {
      const decoder = known.get(columns) ?? rowDecoder(columns, dialect, onInvalidValue);
      known.set(columns, decoder);
      return cells.map((row) => toRow(row, decoder));
    },
  };
}

interface RowDecoder {
  /** An object with all properties of a row. Copying it is faster than building a new object. */
  readonly empty: Row;
  readonly cells: readonly CellDecoder[];
}

interface CellDecoder {
  readonly name: string;
  /** Null if each cell needs decoding. To skip the decoding halves the time of a row. */
  readonly plain: "text" | "integer" | null;
  decode(value: Exclude<SqlValue, null>): unknown;
}

function rowDecoder(
  columns: readonly ColumnInfo[],
  dialect: Dialect,
  onInvalidValue: OnInvalidValue,
): RowDecoder {
  const cells = columns.map((column): CellDecoder => ({
    name: column.name,
    plain: column.kind === "text" || column.kind === "integer" ? column.kind : null,
    decode: (value) => dialect.decode(value, column, onInvalidValue),
  }));
  // `JSON.parse` is not used: its objects with 128 or more columns take 25 times as long to copy.
  const empty: Row = Object.fromEntries(cells.map(({ name }) => [name, null]));
  return { empty, cells };
}

function toRow(stored: readonly SqlValue[], { empty, cells }: RowDecoder): Row {
  const row: Record<string, unknown> = { ...empty };
  let index = 0;
  for (const { name, plain, decode } of cells) {
    const cell = stored[index++] ?? null;
    const isPlain = cell === null || (plain === "text" && typeof cell === "string") ||
      (plain === "integer" && Number.isSafeInteger(cell));
    row[name] = isPlain ? cell : decode(cell);
  }
  return row;
}
