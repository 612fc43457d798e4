import type { Dialect } from "../sql/dialect.ts";
import type { Statement } from "../sql/fragment.ts";
import { isTransactionBoundary } from "../sql/statements/split_statements.ts";
import type { Connection, Driver, QueryResult } from "./driver.ts";
import { refuseTransactionBoundary } from "./refuse_transaction_boundary.ts";
import { SqlPlans } from "./template/sql_plan.ts";
import { createSqlTag, type SqlTag } from "./template/sql_statement.ts";

/**
 * The interface for running statements in a database or in a transaction. Application code, hooks
 * and procedures use it.
 *
 * @example
 * ```ts
 * import { type DatabaseHandle, integer, table, text } from "@svc/resource-api";
 *
 * const notes = table("notes", { id: integer().primaryKey(), ownerId: text().as("owner_id") });
 *
 * async function notesOf(owner: string, db: DatabaseHandle) {
 *   const { rows } = await db.sql<{ id: number }>`
 *     SELECT ${notes.id} FROM ${notes} WHERE ${notes.ownerId} = ${owner}`;
 *   return rows.map(({ id }) => id);
 * }
 * ```
 */
export interface DatabaseHandle {
  /** The template tag for statements, which have the same effect on every engine. */
  readonly sql: SqlTag;
  /** Runs a statement with the driver's own placeholders. Cells are as the driver returns them. */
  query(statement: Statement): Promise<QueryResult>;
  /**
   * Runs `work` in a transaction. It commits when `work` resolves, and rolls back when `work`
   * throws. Inside a transaction, `work` runs in a savepoint and can be rolled back separately.
   * Until `work` ends, only the handle that `work` receives may be used.
   */
  transaction<T>(work: (tx: DatabaseHandle) => PromiseLike<T>): Promise<T>;
  /** The SQL dialect and other properties of the engine. */
  readonly dialect: Dialect;
}

export function databaseHandle(driver: Driver, plans: SqlPlans = new SqlPlans()): DatabaseHandle {
  const { dialect } = driver;
  const connection: Connection = { query: (statement) => driver.query(statement) };
  return {
    dialect,
    query: queryOf(connection, dialect),
    sql: createSqlTag(connection, dialect, plans),
    transaction: (work) =>
      driver.transaction(async (connection) =>
        await work(transactionHandle(connection, dialect, plans))
      ),
  };
}

export function transactionHandle(
  connection: Connection,
  dialect: Dialect,
  plans: SqlPlans,
  depth = 1,
): DatabaseHandle {
  let hasPart = false;
  const used: Connection = {
    query(statement) {
      return hasPart ? Promise.reject(nestedUse()) : connection.query(statement);
    },
  };
  return {
    dialect,
    query: queryOf(used, dialect),
    sql: createSqlTag(used, dialect, plans),
    async transaction(work) {
      if (hasPart) throw nestedUse();
      hasPart = true;
      let hasEnded = false;
      const part: Connection = {
        // Without this check, a late statement would run in the outer transaction.
        query: (statement) =>
          hasEnded
            ? Promise.reject(new Error("Cannot query: the part of the transaction has ended"))
            : connection.query(statement),
      };
      try {
        return await runInSavepoint(connection, `part_${depth}`, async () => {
          try {
            return await work(transactionHandle(part, dialect, plans, depth + 1));
          } finally {
            hasEnded = true;
          }
        });
      } finally {
        hasPart = false;
      }
    },
  };
}

function queryOf(connection: Connection, { refusesBoundaries }: Dialect): DatabaseHandle["query"] {
  return async (statement) => {
    if (!refusesBoundaries && isTransactionBoundary(statement.text)) refuseTransactionBoundary();
    return await connection.query(statement);
  };
}

export async function runInSavepoint<T>(
  connection: Connection,
  name: string,
  work: () => PromiseLike<T>,
): Promise<T> {
  const run = async (text: string) =>
    await connection.query({ text: `${text} ${name}`, values: [] });
  await run("SAVEPOINT");
  try {
    const result = await work();
    await run("RELEASE SAVEPOINT");
    return result;
  } catch (error) {
    // Ignores errors here: if the transaction is lost, COMMIT or ROLLBACK reports that.
    await run("ROLLBACK TO SAVEPOINT").then(() => run("RELEASE SAVEPOINT")).catch(() => {});
    throw error;
  }
}

function nestedUse(): Error {
  return new Error(
    "Cannot use a transaction while a part of it runs: use the handle that transaction() hands over",
  );
}
