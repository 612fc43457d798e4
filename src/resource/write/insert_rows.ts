import type { Connection } from "../../db/driver.ts";
import { fetchRows } from "../../db/rows.ts";
import { chunksOf, compareKeys, type Key, keyId, keyOf } from "../../plan/key.ts";
import { type Assignments, databaseDefault } from "../../plan/plan.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { WriteCall } from "../operation_call.ts";
import { type BodyPath, wholeBody, withinAsync } from "./body_path.ts";
import type { Resource } from "../define/resource.ts";
import { requireWithinScope } from "./within_scope.ts";
import { afterHook } from "./update_row.ts";

/**
 * Inserts many rows, holds them against the scope and runs the after-hooks. The rows come back in
 * the order of `rows`; `places` say where in the body each of them stands.
 */
export async function insertRows(
  rows: readonly Assignments[],
  bodyPaths: readonly BodyPath[],
  write: WriteCall,
  connection: Connection,
): Promise<readonly Row[]> {
  const { table, reader } = write.resource;
  const columns = columnsOf(rows, table);
  const inserted: Row[] = [];
  for (const some of chunksOf(rows, rowsPerStatement(rows, columns, write.resource))) {
    const plan = { kind: "insert" as const, table, columns, rows: some, returning: table.columns };
    const answered = (await fetchRows(connection, plan, reader)).rows;
    inserted.push(...inOrderOf(some, answered, table));
  }
  await requireWithinScope(write, inserted.map((row) => keyOf(row, table)), connection, bodyPaths);
  for (const [index, row] of inserted.entries()) {
    const place = bodyPaths[index] ?? wholeBody;
    await withinAsync(place, () => afterHook("onAfterCreate", row, write, connection));
  }
  return inserted;
}

/** A statement names columns once for all its rows. */
function columnsOf(rows: readonly Assignments[], table: TableInfo): readonly ColumnInfo[] {
  const columns = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  // Several rows of nothing but defaults can only be said by naming a column.
  return columns.length === 0 && rows.length > 1 ? table.primaryKey : columns;
}

function rowsPerStatement(
  rows: readonly Assignments[],
  columns: readonly ColumnInfo[],
  { table, driver }: Resource,
): number {
  const isKnown = isCountedUp(table) || rows.every((row) => givenKey(row, table) !== null);
  if (!isKnown) return 1;
  return Math.max(1, Math.floor(driver.dialect.maxValues / Math.max(1, columns.length)));
}

/**
 * Puts the rows that an INSERT answered with into the order of what was inserted, because no
 * engine promises an order. A row is known by the key it was given. A key that the database made
 * tells which row it is only where keys are counted up; others are inserted one by one.
 */
function inOrderOf(
  rows: readonly Assignments[],
  answered: readonly Row[],
  table: TableInfo,
): readonly Row[] {
  // A trigger of a foreign table may drop what is inserted, without an error.
  if (answered.length !== rows.length) {
    throw new Problem("validation-error", "Cannot create: the database did not keep every row");
  }
  if (rows.length === 1) return answered;
  const byKey = new Map(answered.map((row) => [keyId(keyOf(row, table), table), row]));
  const named = rows.map((row) => {
    const key = givenKey(row, table);
    const id = key === null ? null : keyId(key, table);
    const found = id === null ? undefined : byKey.get(id);
    if (id !== null) byKey.delete(id);
    return found;
  });
  const counted = [...byKey.values()]
    .sort((left, right) => compareKeys(keyOf(left, table), keyOf(right, table), table)).values();
  return named.map((row) => {
    const next = row ?? counted.next().value;
    if (next === undefined) throw new Error("An insert answered with the same row twice");
    return next;
  });
}

function givenKey(row: Assignments, table: TableInfo): Key | null {
  const key = table.primaryKey.map((column) => row.get(column));
  return key.some((value) => value === undefined || value === databaseDefault) ? null : key;
}

/** Both engines give the rows of one INSERT their numbers in the order of its VALUES. */
function isCountedUp({ primaryKey: [column, another] }: TableInfo): boolean {
  return another === undefined && (column?.kind === "integer" || column?.kind === "bigint");
}
