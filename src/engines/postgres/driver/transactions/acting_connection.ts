import { DatabaseError } from "../../../../db/database_error.ts";
import type { DatabaseIdentity } from "../../../../db/driver.ts";
import type { PostgresConnection, PostgresResult, ScheduledRead } from "../postgres_connection.ts";
import type { BoundStatement } from "../prepared_statements.ts";
import { rollBack } from "./postgres_transaction.ts";

export function identityStatement({ role, settings }: DatabaseIdentity): BoundStatement {
  const all = [["role", role], ...Object.entries(settings)];
  const calls = all.map((_one, n) => `set_config($${2 * n + 1}, $${2 * n + 2}, true)`);
  return { text: `SELECT WHERE ${calls.join(" || ")} IS NULL`, values: all.flat() };
}

export async function takeIdentity(
  connection: PostgresConnection,
  identity: DatabaseIdentity,
): Promise<PostgresResult> {
  const { text, values } = identityStatement(identity);
  try {
    return await connection.run(text, values, true);
  } catch (error) {
    const isRefused = error instanceof Error && "code" in error &&
      typeof error.code === "string" && refusedRoles.has(error.code);
    if (!isRefused) throw error;
    const message = `Cannot act as the role "${identity.role}": ${error.message}`;
    throw new DatabaseError("unavailable", new Error(message, { cause: error }));
  }
}

const refusedRoles: ReadonlySet<string> = new Set(["22023", "42704", "42501"]);

/** Sends statements in order. Rejects with the first error after all of them have ended. */
export async function sendInOrder<T>(
  pipelines: boolean,
  statements: readonly (() => Promise<T>)[],
): Promise<readonly T[]> {
  if (!pipelines) {
    const results: T[] = [];
    for (const send of statements) results.push(await send());
    return results;
  }
  const ended = await Promise.allSettled(statements.map((send) => send()));
  return ended.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

/** Runs each read in a transaction with the role of `identity`. Rejects if BEGIN fails. */
export function actingConnection(
  connection: PostgresConnection,
  identity: DatabaseIdentity,
  pipelines: boolean,
): PostgresConnection {
  const around = async (send: () => Promise<PostgresResult>) => {
    let end: PostgresResult | null = null;
    try {
      const [, , result, done] = await sendInOrder(pipelines, [
        () => connection.run("BEGIN", [], true),
        () => takeIdentity(connection, identity),
        send,
        async () => end = await connection.run("COMMIT", [], true),
      ]);
      if (result !== undefined && done?.command === "COMMIT") return result;
      throw new DatabaseError("unavailable", new Error("The server rolled back"));
    } catch (error) {
      // If COMMIT itself has failed, the transaction can still be open.
      if (end === null) await rollBack(connection);
      throw error;
    }
  };
  return {
    opening: null,
    get lost() {
      return connection.lost;
    },
    run: (text, values) => around(() => connection.run(text, values, true)),
    read(text, values, keep) {
      let running: ScheduledRead | null = null;
      let isCanceled = false;
      const result = around(() => {
        if (isCanceled) return Promise.reject(new DatabaseError("unavailable", "canceled"));
        running = connection.read(text, values, keep, true);
        return running.result;
      });
      return {
        result,
        cancel() {
          isCanceled = true;
          return running?.cancel() ?? Promise.resolve();
        },
      };
    },
    end: (command) => connection.end(command),
    drop: () => connection.drop(),
  };
}
