import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine.ts";

/**
 * Returns a fingerprint of the schema: it differs if tables, their types, constraints or triggers
 * have changed, and sometimes without a change. It is much cheaper than an introspection.
 */
export async function schemaVersion(driver: Driver): Promise<string> {
  const text = engineOf(driver).catalog.schemaVersion;
  const { rows } = await driver.query({ text, values: [] });
  return String(rows[0]?.[0] ?? "");
}
