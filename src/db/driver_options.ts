import { flag, having, timerMs } from "../options/option_kinds.ts";
import type { OptionPlace } from "../options/option.ts";
import type { Clock } from "../runtime/runtime.ts";

/** The options that every driver has, described. */
export const driverOptions = {
  readOnly: flag().unlessSet(false),
  raisedMessages: flag().unlessSet(true),
  waitLimitMs: timerMs().unlessSet(5_000),
  clock: having<Clock>(
    "a clock: an object with now, elapsedMs and after",
    "now",
    "elapsedMs",
    "after",
  ),
};

/** Begins the messages about options of a driver. */
export const openingPlace: OptionPlace = { subject: "Cannot open the database", path: "" };
