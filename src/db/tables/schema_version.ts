import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine_of.ts";

/**
 * Returns a string that changes if the tables of the database, their types, constraints or triggers
 * change, and perhaps without a change. This query is much cheaper than an introspection.
 */
export async function schemaVersion(driver: Driver): Promise<string> {
  const text = engineOf(driver).catalog.schemaVersion;
  const { rows } = await driver.query({ text, values: [] });
  return String(rows[0]?.[0] ?? "");
}
