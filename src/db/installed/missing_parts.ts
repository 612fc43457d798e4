import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine.ts";

export interface NeededParts {
  readonly log: boolean;
  readonly search: boolean;
}

export async function missingParts(
  driver: Driver,
  { log, search }: NeededParts,
): Promise<readonly string[]> {
  const { installed } = engineOf(driver);
  const read = async (text: string) =>
    String((await driver.query({ text, values: [] })).rows[0]?.[0]);
  const has = async (pattern: string) =>
    await read(
      `SELECT count(*) FROM ${installed.relations} WHERE name LIKE '${pattern}' ESCAPE '~'`,
    ) !== "0";
  const missing = [...await installed.changesOfServing(driver)];
  if (log && !await has("~_service~_changes")) missing.push(installed.logParts);
  if (search && !await has("service~_fts~_%")) {
    missing.push("tables named service_fts_* are to be added, for the search");
  }
  return missing;
}

export async function mayCreateTables(driver: Driver): Promise<boolean> {
  const text = engineOf(driver).catalog.mayCreateTables;
  if (text === null) return true;
  const { rows } = await driver.query({ text, values: [] });
  return rows[0]?.[0] === "t";
}
