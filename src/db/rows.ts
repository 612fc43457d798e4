import { compile } from "../compile/compile.ts";
import type { CountPlan, InsertPlan, ReadPlan, UpdatePlan } from "../plan/plan.ts";
import type { ColumnInfo, Row } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { SqlValue } from "../sql/fragment.ts";
import type { Connection } from "./driver.ts";

/** What reading rows needs to know beside the plan. */
export interface RowReader {
  readonly dialect: Dialect;
  /** Told of a stored value that does not fit the kind of its column. */
  readonly misfit: (column: ColumnInfo) => void;
}

/** Rows as they are in process, and the stored values they were made of, column by column. */
export interface FetchedRows {
  readonly rows: readonly Row[];
  readonly stored: readonly (readonly SqlValue[])[];
}

/** Runs a plan that answers with rows. */
export async function fetchRows(
  connection: Connection,
  plan: ReadPlan | InsertPlan | UpdatePlan,
  reader: RowReader,
): Promise<FetchedRows> {
  const columns = plan.kind === "read" ? plan.columns : plan.returning;
  const { rows } = await connection.query(compile(plan, reader.dialect));
  return { rows: rows.map((values) => toRow(values, columns, reader)), stored: rows };
}

/** Runs a plan that answers with a number. */
export async function fetchCount(
  connection: Connection,
  plan: CountPlan,
  dialect: Dialect,
): Promise<number> {
  const { rows } = await connection.query(compile(plan, dialect));
  return Number(rows[0]?.[0] ?? 0);
}

function toRow(
  values: readonly SqlValue[],
  columns: readonly ColumnInfo[],
  reader: RowReader,
): Row {
  const row: Record<string, unknown> = {};
  for (let i = 0; i < columns.length; i++) {
    // `i` is within bounds by the loop; a select list and its rows have the same length.
    const column = columns[i] as ColumnInfo;
    const value = values[i] ?? null;
    row[column.name] = value === null ? null : reader.dialect.decode(value, column, reader.misfit);
  }
  return row;
}
