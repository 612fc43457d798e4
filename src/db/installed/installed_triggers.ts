import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine.ts";

/** Returns a fingerprint of the recording triggers, which are lost if a table is rebuilt. */
export async function installedTriggers(driver: Driver): Promise<string> {
  const text = engineOf(driver).installed.triggers;
  const { rows } = await driver.query({ text, values: [] });
  return String(rows[0]?.[0] ?? "");
}
