import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine_of.ts";

/**
 * Returns a fingerprint of the triggers that record changes. A comparison of columns is not enough:
 * a program that rebuilds a table drops its triggers, even if the columns stay the same.
 */
export async function installedTriggers(driver: Driver): Promise<string> {
  const text = engineOf(driver).installed.triggers;
  const { rows } = await driver.query({ text, values: [] });
  return String(rows[0]?.[0] ?? "");
}
