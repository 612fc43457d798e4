import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine.ts";

/** Returns a string that changes with the schema. Reading it is cheaper than an introspection. */
export async function schemaVersion(driver: Driver): Promise<string> {
  const text = engineOf(driver).catalog.schemaVersion;
  const { rows } = await driver.query({ text, values: [] });
  return String(rows[0]?.[0] ?? "");
}
