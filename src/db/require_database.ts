import type { Option } from "../options/option.ts";
import { having } from "../options/option_kinds.ts";
import { showValue } from "../problem/show_value.ts";
import type { Database } from "./open_database.ts";

/**
 * An option that takes an open database, with a message for the usual mistakes: a URL that was not
 * opened, a missing `await`.
 */
export function databaseOption(): Option<Database | undefined> {
  return having<Database>("a database from openDatabase()", "driver").advising((given) => {
    if (given === undefined) return "is missing: give it db: await openDatabase(url)";
    // The text itself is not shown: a URL may hold a password.
    if (typeof given === "string") return "is a text: open it by db: await openDatabase(url)";
    return given instanceof Promise
      ? "is a promise: write db: await openDatabase(url)"
      : `must be a database from openDatabase(), not ${showValue(given)}`;
  });
}
