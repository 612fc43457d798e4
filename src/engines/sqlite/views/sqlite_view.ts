import { DatabaseError, reasonOf } from "../../../db/database_error.ts";
import type { Connection, Driver, ReadLimits } from "../../../db/driver.ts";
import type { ViewInfo } from "../../../schema/view_info.ts";
import { type Fragment, identifier, sql, toStatement } from "../../../sql/fragment.ts";

/** Returns a connection that samples views: it reads in another thread, with a time limit. */
export function connectionForViews(driver: Driver): Connection {
  return driver.reads(limits);
}

const limits: ReadLimits = {
  identity: "the first rows of views",
  signal: new AbortController().signal,
  maxBytes: 16 * 1024 * 1024,
  timeoutMs: 1_000,
  isLong: true,
};

export async function readOrReason<T>(
  read: () => Promise<T>,
): Promise<{ readonly value: T } | { readonly reason: string }> {
  try {
    return { value: await read() };
  } catch (error) {
    if (!(error instanceof DatabaseError) || !ofView.has(error.kind)) throw error;
    return { reason: `it cannot be read: ${reasonOf(error)}` };
  }
}

/** The kinds of errors that a view's definition or a read-only connection can cause. */
const ofView: ReadonlySet<string> = new Set([
  ...["other", "broken-table", "invalid-value", "failed-computation", "read-only"],
]);

/** Returns the writes that INSTEAD OF triggers allow. SQLite refuses to compile any other write. */
export async function readViewInfo(
  connection: Connection,
  view: string,
  columns: readonly string[],
): Promise<ViewInfo> {
  const name = identifier(view);
  const accepts = async (statement: Fragment): Promise<boolean> => {
    const read = await readOrReason(async () =>
      await connection.query(toStatement(sql`EXPLAIN ${statement}`, () => "?"))
    );
    return "value" in read;
  };
  let update = true;
  for (const column of columns.map((one) => identifier(one))) {
    update &&= await accepts(sql`UPDATE ${name} SET ${column} = ${column}`);
  }
  return {
    insert: await accepts(sql`INSERT INTO ${name} DEFAULT VALUES`),
    update,
    delete: await accepts(sql`DELETE FROM ${name}`),
    ...{ isTriggered: true, locksRows: true },
  };
}

export async function readInTime<T>(read: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof DatabaseError) || !late.has(error.kind)) throw error;
    return otherwise;
  }
}

const late: ReadonlySet<string> = new Set(["too-slow", "too-large", "overloaded"]);
