import type { Driver } from "../driver.ts";
import { recordingDriver } from "./recording_driver.ts";
import { type ChangeLogSetup, setUpChangeLog } from "./set_up_change_log.ts";

/**
 * Sets the log up and gives the driver to write by: where nothing but the service itself records,
 * one that does so; else the driver as it is.
 */
export async function openRecordingDriver(setup: ChangeLogSetup): Promise<Driver> {
  const { driver, changes } = setup;
  const { described } = await setUpChangeLog(setup);
  // Tables with a trigger are recorded by that; those of SQLite have a temporary one.
  const unwatched = described.filter(({ isWatched }) => !isWatched);
  return changes.mode === "service" && unwatched.length > 0
    ? recordingDriver(driver, unwatched, changes.exclude)
    : driver;
}
