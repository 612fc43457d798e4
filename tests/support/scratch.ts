import type { Connection } from "../../src/db/driver.ts";
import type { SqlValue } from "../../src/sql/fragment.ts";

/** A folder that is gone when the scope of the test is left: `await using folder = …`. */
export async function scratchFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await Deno.makeTempDir({ prefix: "resource-api-test-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

/** Runs statements one by one; each ends with a semicolon at the end of a line. */
export async function runScript(connection: Connection, script: string): Promise<void> {
  for (const text of script.split(/;[ \t]*(?:\n|$)/)) {
    if (text.trim() !== "") await connection.query({ text, values: [] });
  }
}

/** The rows of a statement that is written with `?`, whatever the engine's placeholders are. */
export async function rows(
  connection: Connection,
  text: string,
  values: readonly SqlValue[] = [],
): Promise<readonly (readonly SqlValue[])[]> {
  return (await connection.query({ text, values })).rows;
}
