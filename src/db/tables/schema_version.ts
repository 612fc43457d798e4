import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine.ts";

/** Returns a fingerprint that changes with the schema. It is cheaper than an introspection. */
export async function schemaVersion(driver: Driver): Promise<string> {
  const text = engineOf(driver).catalog.schemaVersion;
  const { rows } = await driver.query({ text, values: [] });
  return String(rows[0]?.[0] ?? "");
}
