import { closeSync, existsSync, openSync, statSync } from "node:fs";
import type { ClaimedFile } from "../runtime/files/claimed_files.ts";
import { companionFileMistake } from "./key_value_location.ts";
import { denoKvObjectNames } from "../runtime/files/deno_kv_tables.ts";

/** Creates a missing file. Throws for another SQLite database: Deno KV would add its tables. */
export async function requireStoreFile({ path, isFirst }: ClaimedFile): Promise<void> {
  const mistake = companionFileMistake(path);
  if (mistake !== null) throw new Error(`its path ${mistake}`);
  // Mode 0600, because the store contains password hashes. SQLite's other files have the same mode.
  if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
  // If the file is already open in this process, it was checked before.
  if (!isFirst || !statSync(path).isFile() || statSync(path).size === 0) {
    return;
  }
  const { readSqliteFileSchema } = await import("./read_schema.ts");
  const schema = readSqliteFileSchema(path);
  const own = denoKvObjectNames(schema);
  const foreign = schema.find(({ name }) => !own.has(name));
  if (foreign === undefined) return;
  throw new Error(`it is a database, with "${foreign.name}" in it: give kv a file of its own`);
}
