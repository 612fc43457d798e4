import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine_of.ts";

/**
 * A string that is another one once the triggers that record changes are: another program that makes a
 * table again loses those of the table before, although its columns are the same.
 */
export async function installedTriggers(driver: Driver): Promise<string> {
  const text = engineOf(driver).installed.triggers;
  const { rows } = await driver.query({ text, values: [] });
  return String(rows[0]?.[0] ?? "");
}
