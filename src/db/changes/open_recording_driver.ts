import type { Driver } from "../driver.ts";
import type { ChangeLogSetup } from "../engine/changes_engine.ts";
import { engineOf } from "../engine/engine_of.ts";

/**
 * Sets up the change log and returns the driver for writes. It records its own writes if no trigger
 * does.
 */
export async function openRecordingDriver(setup: ChangeLogSetup): Promise<Driver> {
  return (await engineOf(setup.driver).changes.setUp(setup)).recordingDriver();
}
