import { Buffer } from "node:buffer";
import type { Deadline } from "../../../runtime/runtime.ts";
import type { SqlValue, Statement } from "../../../sql/fragment.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { QueryResult } from "../../../db/driver.ts";
import type { PostgresConnection, PostgresResult, PostgresSession } from "./postgres_connection.ts";
import { isRejectedValue, toPostgresError } from "./postgres_errors.ts";

/** Returns the session's connection after it was opened. If opening fails, nothing was sent. */
export async function whenOpen(
  session: PostgresSession,
  limit: Deadline,
): Promise<PostgresConnection> {
  for (;;) {
    const connection = session.connection();
    if (connection.opening === null) return connection;
    try {
      await limit.within(connection.opening);
    } catch (error) {
      throw toPostgresError(error, "read");
    }
  }
}

export async function runStatement(
  connection: PostgresConnection,
  statement: Statement,
  isPipelined = false,
): Promise<QueryResult> {
  return toQueryResult(
    await connection.run(statement.text, statement.values.map(toPostgresText), isPipelined),
    statement,
  );
}

export function toQueryResult(
  { rows, command, count, columns }: PostgresResult,
  { describe = false }: Statement,
): QueryResult {
  const changed = writeCommands.has(command) ? count : 0;
  return describe ? { rows, changed, columns } : { rows, changed };
}

export function translate(
  error: unknown,
  { values }: Statement,
  sent: "write" | "part" | "read",
  showsRaised: boolean,
): unknown {
  return values.length > 0 && isRejectedValue(error)
    ? new DatabaseError("invalid-value", error)
    : toPostgresError(error, sent, showsRaised);
}

/** Matches most statements that write rows. MERGE, WITH and functions can write rows, too. */
export const writesRows = /^(?:INSERT|UPDATE|DELETE)\b/;

/** Matches statements that a read-only database rejects. Views and functions can also write. */
export const needsWriting =
  /^(?:INSERT|UPDATE|DELETE|MERGE)\b|^WITH\b[^]*?\b(?:INSERT|UPDATE|DELETE|MERGE)\b|\bFOR UPDATE\b/;

const writeCommands: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

export function toPostgresText(value: SqlValue): string | null {
  if (value === null || typeof value === "string") return value;
  if (typeof value !== "object") return String(value);
  return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")}`;
}
