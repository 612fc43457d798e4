import { DatabaseError } from "../../db/database_error.ts";
import { runInSavepoint } from "../../db/database_handle.ts";
import type { Connection } from "../../db/driver.ts";
import { chunksOf } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Statement } from "../../sql/fragment.ts";
import type { Resource } from "../model/resource.ts";
import type { WriteCall } from "../model/operation.ts";
import { wholeBody } from "../write/values/batch_items.ts";
import { followGivenKeys, type WriteConnection } from "../write/transaction/in_transaction.ts";
import { insertRows } from "../write/insert_rows.ts";
import { refusalKinds, toFailedWrite } from "../write/refused/failed_write.ts";
import type { PreparedRow, ShapedRow } from "./row_chunks.ts";

export interface RefusedRow {
  readonly line: number;
  readonly error: unknown;
}

/** The error of a group of rows in which some were rejected. No row of the group was written. */
export class RefusedRowsError extends Error {
  readonly rows: readonly RefusedRow[];

  constructor(rows: readonly RefusedRow[]) {
    super("Rows of an import were refused");
    this.name = "RefusedRowsError";
    this.rows = rows;
  }
}

export class SliceWriter {
  readonly #write: WriteCall;

  constructor(write: WriteCall) {
    this.#write = write;
  }

  /** Writes rows together, or each alone after an error. Throws {@link RefusedRowsError}. */
  async write(rows: readonly PreparedRow[], connection: WriteConnection): Promise<void> {
    if (await this.#attemptAgain(rows, connection, slicePoint) === null) return;
    const refused: RefusedRow[] = [];
    for (const row of rows) {
      const one = await this.#attemptAgain([row], connection, rowPoint);
      if (one !== null) refused.push({ line: row.line, error: one.error });
    }
    // If each row succeeds alone, the group failed only because a later row had a generated key.
    if (refused.length > 0) throw new RefusedRowsError(refused);
  }

  /** If the database has generated a key that is taken, advances the sequence and tries again. */
  async #attemptAgain(
    rows: readonly PreparedRow[],
    connection: WriteConnection,
    point: SavePoint,
  ): Promise<{ readonly error: unknown } | null> {
    const failure = await this.#attempt(rows, connection, point);
    if (failure === null) return null;
    // The savepoint keeps the transaction usable if the role is not allowed to set the sequence.
    const apart: Connection = {
      query: (statement) =>
        runInSavepoint(
          connection,
          "service_counter",
          async () => await connection.query(statement),
        ),
    };
    const isMended = await followGivenKeys(failure.error, this.#write.resource.driver, apart);
    return isMended ? await this.#attempt(rows, connection, point) : failure;
  }

  async #attempt(
    rows: readonly PreparedRow[],
    connection: WriteConnection,
    point: SavePoint,
  ): Promise<{ readonly error: unknown } | null> {
    await connection.query(point.set);
    try {
      await this.#insert(rows.map(({ values }) => values), connection);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await connection.query(point.rollBack);
      await connection.query(point.release);
      const failed = () => rows.map(({ values }) => ({ ...wholeBody, values: values.toMap() }));
      return { error: toFailedWrite(error, this.#write.resource, failed) };
    }
    await connection.query(point.release);
    return null;
  }

  async #insert(rows: readonly ShapedRow[], connection: WriteConnection): Promise<void> {
    if (needsRows(this.#write, connection)) {
      const maps = rows.map((row) => row.toMap());
      await insertRows(maps, rows.map(() => wholeBody), this.#write, connection);
      return;
    }
    const { table, reader, driver: { dialect } } = this.#write.resource;
    for (const [columns, alike] of byColumns(rows)) {
      // `DEFAULT VALUES` can insert only one row.
      const most = columns.length === 0 ? 1 : Math.floor(dialect.maxValues / columns.length);
      for (const some of chunksOf(alike, Math.max(1, Math.min(rowsPerStatement, most)))) {
        const plan = { kind: "insert" as const, table, columns, rows: some, returning: [] };
        const { changed } = await connection.query(reader.compile(plan));
        if (changed !== some.length) throw notKept(some, this.#write.resource);
      }
    }
  }
}

/** Groups rows by their columns. If all rows have the same columns, their order stays unchanged. */
function byColumns(rows: readonly ShapedRow[]): readonly Alike[] {
  const shape = rows[0]?.shape;
  // Returns the shared list itself, because statements are cached by the identity of the list.
  if (rows.every((row) => row.shape === shape)) return [[shape?.columns ?? [], rows]];
  const nameOf = ({ shape: { columns } }: ShapedRow) =>
    JSON.stringify(columns.map(({ name }) => name).sort());
  return [...Map.groupBy(rows, nameOf)]
    .map(([, alike]) => [alike[0]?.shape.columns ?? [], alike] as const);
}

type Alike = readonly [readonly ColumnInfo[], readonly ShapedRow[]];

interface SavePoint {
  readonly set: Statement;
  readonly release: Statement;
  readonly rollBack: Statement;
}

const slicePoint = savePoint("service_slice");
const rowPoint = savePoint("service_row");

function savePoint(name: string): SavePoint {
  const statement = (text: string): Statement => ({ text: `${text} ${name}`, values: [] });
  return {
    set: statement("SAVEPOINT"),
    release: statement("RELEASE SAVEPOINT"),
    rollBack: statement("ROLLBACK TO SAVEPOINT"),
  };
}

function isRefusal(error: unknown): boolean {
  if (error instanceof DatabaseError) return refusalKinds.has(error.kind);
  return error instanceof Problem && error.status < 500;
}

/** The maximum number of rows in a statement. More rows block the event loop for longer. */
const rowsPerStatement = 256;

function needsRows({ grant, resource }: WriteCall, { inserts }: WriteConnection): boolean {
  return inserts !== "together" || grant.rows.kind !== "all" || resource.indexers.length > 0 ||
    resource.hooks.onAfterCreate !== undefined;
}

/** Returns the error for rows that a trigger dropped or a Postgres rule stored elsewhere. */
function notKept(rows: readonly ShapedRow[], { table }: Resource): Error {
  const isKeyed = rows.every(({ shape: { columns } }) =>
    table.primaryKey.every((column) => columns.includes(column))
  );
  const kept = rows.length === 1 ? "the row" : "every row";
  return table.own || !isKeyed
    ? new Problem("validation-error", `Cannot create: the database did not keep ${kept}`)
    // This error makes the service retry the transaction and read each row back.
    : new DatabaseError("no-returning", new Error("a rule or a trigger has kept no row"));
}
