import type { Driver } from "../driver.ts";
import type { ChangeLogSetup } from "../engine/changes_engine.ts";
import { engineOf } from "../engine/engine_of.ts";

/**
 * Sets the change log up and returns the driver to write by: one that records its own writes if no
 * trigger does, or the driver as it is.
 */
export async function openRecordingDriver(setup: ChangeLogSetup): Promise<Driver> {
  return (await engineOf(setup.driver).changes.setUp(setup)).recordingDriver();
}
