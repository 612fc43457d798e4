import { DatabaseError } from "../../db/database_error.ts";
import { inSavepoint } from "../../db/database_handle.ts";
import type { Connection } from "../../db/driver.ts";
import { chunksOf } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Statement } from "../../sql/fragment.ts";
import type { Resource } from "../model/resource.ts";
import type { WriteCall } from "../model/operation.ts";
import { wholeBody } from "../write/values/body_path.ts";
import type { WriteConnection } from "../write/transaction/in_transaction.ts";
import { insertRows } from "../write/insert_rows.ts";
import { followGivenKeys } from "../write/transaction/follow_given_keys.ts";
import { failedWrite, refusals } from "../write/refused/failed_write.ts";
import type { PreparedRow } from "./prepared_row.ts";
import type { ShapedRow } from "./shaped_row.ts";

/** A row that the database, a scope or a hook has refused, and why. */
export interface RefusedRow {
  readonly line: number;
  readonly error: unknown;
}

/** The error of a slice of which some rows were refused; nothing of it is written. */
export class RefusedRows extends Error {
  /** Not empty. */
  readonly rows: readonly RefusedRow[];

  /** In their order. */
  constructor(rows: readonly RefusedRow[]) {
    super("Rows of an import were refused");
    this.name = "RefusedRows";
    this.rows = rows;
  }
}

/** Writes the rows of one import, some at a time. */
export class SliceWriter {
  readonly #write: WriteCall;

  /** Writes nothing yet. */
  constructor(write: WriteCall) {
    this.#write = write;
  }

  /**
   * Writes rows in the transaction of an import, as many by a statement as it takes. Where some are
   * refused, finds out which by inserting them one by one, and throws {@link RefusedRows}.
   */
  async write(rows: readonly PreparedRow[], connection: WriteConnection): Promise<void> {
    if (await this.#attemptAgain(rows, connection, slicePoint) === null) return;
    const refused: RefusedRow[] = [];
    for (const row of rows) {
      const one = await this.#attemptAgain([row], connection, rowPoint);
      if (one !== null) refused.push({ line: row.line, error: one.error });
    }
    // One by one all of them may fit: the database has given a row the key of a later one before.
    if (refused.length > 0) throw new RefusedRows(refused);
  }

  /** A second time where the database has given a row a key that is taken. */
  async #attemptAgain(
    rows: readonly PreparedRow[],
    connection: WriteConnection,
    point: SavePoint,
  ): Promise<{ readonly error: unknown } | null> {
    const failure = await this.#attempt(rows, connection, point);
    if (failure === null) return null;
    // A role that may not set the counter must not lose the transaction by that.
    const apart: Connection = {
      query: (statement) =>
        inSavepoint(connection, "service_counter", async () => await connection.query(statement)),
    };
    const isMended = await followGivenKeys(failure.error, this.#write.resource.driver, apart);
    return isMended ? await this.#attempt(rows, connection, point) : failure;
  }

  /** Writes all rows or none. Gives why they were refused, or null; other errors are thrown. */
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
      return { error: failedWrite(error, this.#write.resource, failed) };
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
      // `DEFAULT VALUES` is one row.
      const most = columns.length === 0 ? 1 : Math.floor(dialect.maxValues / columns.length);
      for (const some of chunksOf(alike, Math.max(1, Math.min(rowsPerStatement, most)))) {
        const plan = { kind: "insert" as const, table, columns, rows: some, returning: [] };
        const { changed } = await connection.query(reader.compile(plan));
        if (changed !== some.length) throw notKept(some, this.#write.resource);
      }
    }
  }
}

/** Rows with the same columns, in the order of the body where all have the same. */
function byColumns(rows: readonly ShapedRow[]): readonly Alike[] {
  const shape = rows[0]?.shape;
  // The compiler knows a list of columns again.
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
  if (error instanceof DatabaseError) return refusals.has(error.kind);
  return error instanceof Problem && error.status < 500;
}

/** More make a statement no faster, and keep the event loop for longer. */
const rowsPerStatement = 256;

/** Returns true if anything looks at the rows as they are stored. */
function needsRows({ grant, resource }: WriteCall, { inserts }: WriteConnection): boolean {
  return inserts !== "together" || grant.rows.kind !== "all" || resource.indexers.length > 0 ||
    resource.hooks.onAfterCreate !== undefined;
}

/** A trigger of an existing table may drop a row, and a rule of Postgres store it elsewhere. */
function notKept(rows: readonly ShapedRow[], { table }: Resource): Error {
  const isKeyed = rows.every(({ shape: { columns } }) =>
    table.primaryKey.every((column) => columns.includes(column))
  );
  const kept = rows.length === 1 ? "the row" : "every row";
  return table.own || !isKeyed
    ? new Problem("validation-error", `Cannot create: the database did not keep ${kept}`)
    // Then the transaction is tried once more, and each row read back.
    : new DatabaseError("no-returning", new Error("a rule or a trigger has kept no row"));
}
