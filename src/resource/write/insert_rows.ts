import { isWhole } from "../../schema/kinds/kind_properties.ts";
import { allRows, reachesTable } from "../../filter/filter.ts";
import { fetchRows } from "../../db/rows.ts";
import { chunksOf, compareKeys, type Key, keyId, keyOf, keysFilter } from "../../plan/key.ts";
import { type Assignments, databaseDefault } from "../../plan/plan.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { BodyPath, WriteCall } from "../model/operation.ts";
import { atBodyPath, atPathAsync, wholeBody } from "./values/batch_items.ts";
import { toFailedWrite } from "./refused/failed_write.ts";
import { UnorderedKeysError, type WriteConnection } from "./transaction/in_transaction.ts";
import { readAgain, readByKeys } from "./read_rows_to_write.ts";
import { outsideScope, requireWithinScope, scopeOfStatement, scopeProblem } from "./row_target.ts";
import { afterWrite } from "./run_hooks.ts";
import type { Connection } from "../../db/driver.ts";
import type { Resource } from "../model/resource.ts";
import { relatedToOthers, usesColumn } from "../../filter/related_to_others.ts";
import { equalsStoredValue } from "./values/echoed_values.ts";
import type { LockedRow } from "./write_matching_rows.ts";

/** The maximum number of new rows for which one statement checks the scope. */
export const maxComparedRows = 100;

/**
 * Requires that new rows are within a scope that tests other rows of the same table. A new row
 * counts for this test only after it has been permitted itself. Otherwise a user could create the
 * team membership that permits its own creation. Throws a 403, which rolls the transaction back.
 */
export async function requireNewRows(
  { grant, resource }: WriteCall,
  keys: readonly Key[],
  connection: Connection,
  bodyPaths: readonly BodyPath[],
): Promise<void> {
  const { table } = resource;
  for (let left = keys; left.length > 0;) {
    const where = relatedToOthers(grant.rows, table, keysFilter(left, table));
    const what = { keys: left, where, columns: table.primaryKey };
    const within = await readByKeys(what, resource, connection);
    const [first, ...others] = left.filter((key) => !within.has(keyId(key, table)));
    if (first === undefined) return;
    if (within.size === 0) {
      throw atBodyPath(outsideScope(grant.access), bodyPaths[keys.indexOf(first)] ?? wholeBody);
    }
    left = [first, ...others];
  }
}

/** Like {@link requireNewRows}, for updates: no changed membership may permit its own change. */
export async function requireChangedRows(
  updates: readonly LockedRow<Assignments>[],
  write: WriteCall,
  connection: Connection,
  bodyPaths: readonly BodyPath[] = [],
): Promise<void> {
  const { grant: { rows }, resource: { table } } = write;
  if (!reachesTable(rows, table)) return;
  const changed = updates.flatMap(({ current, values }, index) =>
    [...values].some(([column, value]) =>
        usesColumn(rows, column) && !equalsStoredValue(value, current[column.name])
      )
      ? [{ key: keyOf(current, table), bodyPath: bodyPaths[index] ?? wholeBody }]
      : []
  );
  const keys = changed.map(({ key }) => key);
  await requireNewRows(write, keys, connection, changed.map(({ bodyPath }) => bodyPath));
}

export async function insertRows(
  rows: readonly Assignments[],
  bodyPaths: readonly BodyPath[],
  write: WriteCall,
  connection: WriteConnection,
): Promise<readonly Row[]> {
  const { table, reader, hooks, stored: returning } = write.resource;
  const columns = columnsOf(rows, table);
  const scope = rows.length === 1 ? scopeOfStatement(write, connection) : {};
  const isSelfRelated = reachesTable(write.grant.rows, table);
  const inserted: Row[] = [];
  for (const some of chunksOf(rows, rowsPerStatement(rows, columns, write, connection))) {
    const plan = { kind: "insert" as const, table, columns, rows: some, returning };
    try {
      const returned = connection.inserts === "read-back"
        ? await insertAndRead(some, write.resource, connection)
        : (await fetchRows(connection, { ...plan, ...scope }, reader)).rows;
      const ordered = inOrderOf(some, returned, table);
      const { isTriggered = false } = table.view ?? {};
      inserted.push(
        ...isTriggered ? await readAgain(ordered, write.resource, connection, "create") : ordered,
      );
    } catch (error) {
      const done = inserted.length;
      const failure = scopeProblem(error, write.grant.access);
      if (failure !== error) throw atBodyPath(failure, bodyPaths[done] ?? wholeBody);
      throw toFailedWrite(
        error,
        write.resource,
        () => some.map((values, index) => ({ ...bodyPaths[done + index] ?? wholeBody, values })),
      );
    }
    if (!isSelfRelated) continue;
    const done = inserted.length - some.length;
    const added = inserted.slice(done).map((row) => keyOf(row, table));
    await requireNewRows(write, added, connection, bodyPaths.slice(done));
  }
  const keys = inserted.map((row) => keyOf(row, table));
  if (scope.within === undefined && !isSelfRelated) {
    await requireWithinScope(write, keys, connection, bodyPaths);
  }
  const areFinal = hooks.onAfterCreate === undefined;
  connection.noteWritten(keys, write.resource, areFinal ? inserted : null);
  if (hooks.onAfterCreate === undefined) return inserted;
  for (const [index, row] of inserted.entries()) {
    await atPathAsync(
      bodyPaths[index] ?? wholeBody,
      () => afterWrite("onAfterCreate", row, write, connection),
    );
  }
  return inserted;
}

/** Returns the union of the columns of all rows, because an INSERT names its columns once. */
function columnsOf(rows: readonly Assignments[], table: TableInfo): readonly ColumnInfo[] {
  const [first] = rows;
  if (first !== undefined && rows.length === 1) return [...first.keys()];
  const columns = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  // An INSERT of several rows that have only default values must name a column.
  return columns.length === 0 ? table.primaryKey : columns;
}

function rowsPerStatement(
  rows: readonly Assignments[],
  columns: readonly ColumnInfo[],
  { grant, resource: { table, driver } }: WriteCall,
  { inserts }: WriteConnection,
): number {
  if (inserts !== "together") return 1;
  const isKnown = isCountedUp(table) || rows.every((row) => givenKey(row, table) !== null);
  if (!isKnown) return 1;
  const most = reachesTable(grant.rows, table) ? maxComparedRows : Infinity;
  const fitting = Math.floor(driver.dialect.maxValues / Math.max(1, columns.length));
  return Math.max(1, Math.min(most, fitting));
}

/**
 * Puts the rows that an INSERT returned into the order of VALUES, which no engine guarantees. Finds
 * a row by its key in VALUES, or by generated keys if they increase. If they do not, e.g. in a
 * Postgres sequence that counts down, throws {@link UnorderedKeysError}, and rows are inserted one
 * by one.
 */
function inOrderOf(
  rows: readonly Assignments[],
  returned: readonly Row[],
  table: TableInfo,
): readonly Row[] {
  // A trigger can discard an inserted row without an error.
  if (returned.length !== rows.length) {
    const lost = rows.length === 1 ? "the row" : "every row";
    throw new Problem("validation-error", `Cannot create: the database did not keep ${lost}`);
  }
  if (rows.length === 1) return returned;
  const byKey = new Map(returned.map((row) => [keyId(keyOf(row, table), table), row]));
  const named = rows.map((row) => {
    const key = givenKey(row, table);
    const id = key === null ? null : keyId(key, table);
    const found = id === null ? undefined : byKey.get(id);
    if (id !== null) byKey.delete(id);
    return found;
  });
  const made = [...byKey.values()];
  const isCountedOn = made.every((row, index) => {
    const before = made[index - 1];
    return before === undefined || compareKeys(keyOf(before, table), keyOf(row, table), table) < 0;
  });
  if (!isCountedOn) throw new UnorderedKeysError();
  const counted = made.values();
  return named.map((row) => {
    const next = row ?? counted.next().value;
    if (next === undefined) throw new Error("An insert returned the same row twice");
    return next;
  });
}

function givenKey(row: Assignments, table: TableInfo): Key | null {
  const key = table.primaryKey.map((column) => row.get(column));
  return key.some((value) => value === undefined || value === databaseDefault) ? null : key;
}

/** Returns true if generated keys only increase. Engines generate them in VALUES order. */
function isCountedUp({ primaryKey: [column, another] }: TableInfo): boolean {
  return another === undefined && column !== undefined && isWhole(column);
}

/** Inserts rows without RETURNING, which a Postgres rule can prevent: generates the keys first. */
async function insertAndRead(
  rows: readonly Assignments[],
  resource: Resource,
  connection: Connection,
): Promise<readonly Row[]> {
  const { table, reader } = resource;
  const read: Row[] = [];
  for (const given of rows) {
    const values = new Map(given);
    for (const column of table.primaryKey) {
      const value = values.get(column) ?? databaseDefault;
      if (value === databaseDefault) {
        values.set(column, await nextKey(column, resource, connection));
      }
    }
    const columns = [...values.keys()];
    const plan = { kind: "insert" as const, table, columns, rows: [values], returning: [] };
    const { text, values: bound } = reader.compile(plan);
    // Omits `plan`, because a driver that records writes would add RETURNING, which fails here.
    await connection.query({ text, values: bound });
    const keys = [table.primaryKey.map((column) => values.get(column))];
    const found = await readByKeys(
      { keys, where: allRows, columns: resource.stored },
      resource,
      connection,
    );
    read.push(...found.values());
  }
  return read;
}

async function nextKey(
  column: ColumnInfo,
  { reader }: Resource,
  connection: Connection,
): Promise<unknown> {
  const source = column.default;
  if (source?.kind !== "database" || source.sql === null) {
    const message = `Cannot create: ${column.name} is required, as a rule of the table hides it`;
    throw new Problem("validation-error", message);
  }
  // This SQL comes from the database's catalog, not from a request.
  const { rows } = await connection.query({ text: `SELECT ${source.sql}`, values: [] });
  return reader.toRows(rows, [column])[0]?.[column.name];
}
