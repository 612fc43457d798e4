import type { Driver } from "../driver.ts";
import type { ChangeLogSetup } from "../engine/changes_engine.ts";
import { engineOf } from "../engine/engine_of.ts";

/** Sets up the change log. Returns the driver for writes, which may record its own writes. */
export async function openRecordingDriver(setup: ChangeLogSetup): Promise<Driver> {
  return (await engineOf(setup.driver).changes.setUp(setup)).recordingDriver();
}
