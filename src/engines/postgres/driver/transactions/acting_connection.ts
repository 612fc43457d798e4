import { DatabaseError } from "../../../../db/database_error.ts";
import type { DatabaseIdentity } from "../../../../db/driver.ts";
import type { PostgresConnection, PostgresResult, ScheduledRead } from "../postgres_connection.ts";
import { rollBack } from "./postgres_transaction.ts";

/**
 * Takes an identity on a connection until the end of its transaction. Rejects as `unavailable` if
 * the role does not exist any more, or if the login role is not its member any more.
 */
export async function takeIdentity(
  connection: PostgresConnection,
  { role, settings }: DatabaseIdentity,
): Promise<PostgresResult> {
  const names = Object.keys(settings);
  const calls = names.map((_name, index) =>
    `set_config($${2 * index + 2}, $${2 * index + 3}, true)`
  );
  const text = `SELECT ${["set_config('role', $1, true)", ...calls].join(", ")}`;
  const values = [role, ...Object.entries(settings).flat()];
  try {
    return await connection.run(text, values, true);
  } catch (error) {
    const isRefused = error instanceof Error && "code" in error &&
      typeof error.code === "string" && refusedRoles.has(error.code);
    if (!isRefused) throw error;
    const message = `Cannot act as the role "${role}": ${error.message}`;
    throw new DatabaseError("unavailable", new Error(message, { cause: error }));
  }
}

/** Codes for a role that does not exist, and for a role that the login role may not take. */
const refusedRoles: ReadonlySet<string> = new Set(["22023", "42704", "42501"]);

/**
 * Sends statements in a separate transaction, in the name of an identity. All are sent together if
 * the connection can do so. Nothing is returned unless all succeed: after a BEGIN that failed, the
 * statements have run with the rights of the login role.
 */
export async function runAs<T>(
  connection: PostgresConnection,
  identity: DatabaseIdentity,
  pipelines: boolean,
  send: () => Promise<T>,
): Promise<T> {
  const results: T[] = [];
  let end = "";
  await sendInOrder<unknown>(pipelines, [
    () => connection.run("BEGIN", [], true),
    () => takeIdentity(connection, identity),
    async () => results.push(await send()),
    async () => end = (await connection.run("COMMIT", [], true)).command,
  ]).catch(async (error) => {
    // COMMIT itself may have failed, and the transaction is then still open.
    await rollBack(connection);
    throw error;
  });
  const [result] = results;
  if (end === "COMMIT" && result !== undefined) return result;
  throw new DatabaseError("unavailable", new Error("The server rolled back"));
}

/**
 * Sends statements in their order, together or one after the other. Rejects with the first error,
 * when every statement that was sent has ended.
 */
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

/** A connection whose every read is a transaction in the name of an identity. */
export class ActingConnection implements PostgresConnection {
  readonly opening = null;
  readonly #connection: PostgresConnection;
  readonly #identity: DatabaseIdentity;
  readonly #pipelines: boolean;

  /** Creates the connection from one that is open. */
  constructor(connection: PostgresConnection, identity: DatabaseIdentity, pipelines: boolean) {
    this.#connection = connection;
    this.#identity = identity;
    this.#pipelines = pipelines;
  }

  get lost(): boolean {
    return this.#connection.lost;
  }

  run(text: string, values: readonly (string | null)[]): Promise<PostgresResult> {
    return this.#around(() => this.#connection.run(text, values, true));
  }

  read(
    text: string,
    values: readonly (string | null)[],
    keep: (row: readonly (string | null)[]) => boolean,
  ): ScheduledRead {
    let running: ScheduledRead | null = null;
    let isCanceled = false;
    const result = this.#around(() => {
      if (isCanceled) return Promise.reject(new DatabaseError("unavailable", "canceled"));
      running = this.#connection.read(text, values, keep, true);
      return running.result;
    });
    return {
      result,
      cancel() {
        isCanceled = true;
        return running?.cancel() ?? Promise.resolve();
      },
    };
  }

  drop(): void {
    this.#connection.drop();
  }

  #around(send: () => Promise<PostgresResult>): Promise<PostgresResult> {
    return runAs(this.#connection, this.#identity, this.#pipelines, send);
  }
}
