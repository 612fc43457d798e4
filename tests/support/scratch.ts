import type { Connection, QueryResult } from "../../src/db/driver.ts";
import type { Dialect } from "../../src/sql/dialect.ts";
import type { SqlValue, Statement } from "../../src/sql/fragment.ts";

/**
 * A folder that is gone when the scope of the test is left: `await using folder = …`. It is in `dir`, where the
 * place matters.
 */
export async function scratchFolder(
  options: { readonly dir?: string } = {},
): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await Deno.makeTempDir({ ...options, prefix: "resource-api-test-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

/** Runs statements one by one; each ends with a semicolon at the end of a line. */
export async function runScript(connection: Connection, script: string): Promise<void> {
  let text = "";
  for (const part of script.split(/(?<=;)[ \t]*(?:\n|$)/)) {
    text += `${part}\n`;
    // A semicolon in a function between `$$` ends no statement.
    if (text.split("$$").length % 2 === 0) continue;
    const statement = text.trim().replace(/;$/, "");
    text = "";
    if (statement !== "") await connection.query({ text: statement, values: [] });
  }
}

/** A statement that is written with `?`, for any engine. */
export function statement(dialect: Dialect, text: string, ...values: SqlValue[]): Statement {
  let position = 0;
  return { text: text.replaceAll("?", () => dialect.placeholder(++position)), values };
}

/** Runs a statement that is written with `?`. */
export async function run(
  database: { readonly dialect: Dialect; readonly driver: Connection },
  text: string,
  ...values: SqlValue[]
): Promise<QueryResult> {
  return await database.driver.query(statement(database.dialect, text, ...values));
}

/** A promise that the test resolves, so that it decides what happens first. */
export function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: resolve };
}
