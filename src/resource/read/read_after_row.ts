import type { Connection } from "../../db/driver.ts";
import { fetchRows, type RowReader } from "../../db/rows.ts";
import { and, type Filter } from "../../filter/filter.ts";
import { requireUnchangedPosition, type RowPosition } from "../../plan/cursor.ts";
import { keyFilter, keyOf } from "../../plan/key.ts";
import type { ReadPlan } from "../../plan/plan.ts";

export interface ContinuedRow {
  readonly position: RowPosition;
  readonly visible: Filter;
}

/** Plans the page after a given row. Throws a 400 if the row was hidden, deleted or changed. */
export async function planReadAfterRow(
  read: ReadPlan,
  { position, visible }: ContinuedRow,
  connection: Connection,
  reader: RowReader,
): Promise<ReadPlan> {
  const { table, order, added } = read;
  const columns = order.map(({ column }) => column);
  const keyColumns = columns.filter(({ primaryKey }) => primaryKey);
  const [key = {}] = reader.toRows([position.key], keyColumns);
  const where = and(visible, keyFilter(keyOf(key, table), table));
  const plan = {
    kind: "read",
    table,
    columns,
    where,
    order: [],
    after: null,
    limit: null,
    ...(added === undefined ? {} : { added }),
  } as const;
  const { stored: [current] } = await fetchRows(connection, plan, reader);
  return { ...read, after: requireUnchangedPosition(current, position) };
}
