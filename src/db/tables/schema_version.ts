import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine_of.ts";

/**
 * A string that is another one once any table of the database has other columns, constraints or triggers: much
 * cheaper than an introspection. It may change where no description does.
 */
export async function schemaVersion(driver: Driver): Promise<string> {
  const text = engineOf(driver).catalog.schemaVersion;
  const { rows } = await driver.query({ text, values: [] });
  return String(rows[0]?.[0] ?? "");
}
