import type { Database } from "../db/database.ts";
import { engineOf } from "../db/engine/engine.ts";
import { sqliteEngine } from "./sqlite/sqlite_engine.ts";

export { copySqliteFiles as copyFiles, requireIntact } from "./sqlite/backup/copy_files.ts";
export { beginEpoch, isStore, requireUnused } from "./sqlite/backup/restored_file.ts";

export async function fileOfDatabase({ driver }: Database): Promise<string | null> {
  if (engineOf(driver) !== sqliteEngine) return null;
  const text = "SELECT file FROM pragma_database_list WHERE name = 'main'";
  const { rows: [row] } = await driver.query({ text, values: [] });
  const [path] = row ?? [];
  return typeof path === "string" && path !== "" ? path : null;
}
