import type { Option } from "../options/option.ts";
import { objectWith, testedValue } from "../options/option_kinds.ts";
import { showValue } from "../problem/show_value.ts";
import { type DrizzleDatabase, isDrizzleDatabase } from "./drizzle/drizzle_database.ts";
import type { Database } from "./database.ts";

export function databaseOption(): Option<Database | undefined> {
  return objectWith<Database>(takes, "driver").advising((given) =>
    isDrizzleDatabase(given)
      ? "is a database of Drizzle: open it by db: await openDatabase(db)"
      : advice(given)
  );
}

export function appDatabaseOption(): Option<Database | DrizzleDatabase | undefined> {
  return testedValue<Database | DrizzleDatabase>(
    takes,
    (given) =>
      isDrizzleDatabase(given) || typeof given === "object" && given !== null && "driver" in given,
  ).advising(advice);
}

const takes = "a database from openDatabase()";

function advice(given: unknown): string {
  if (given === undefined) return "is missing: give it db: await openDatabase(url)";
  // The message does not contain the given string, because a URL can contain a password.
  if (typeof given === "string") return "is a string: open it by db: await openDatabase(url)";
  return given instanceof Promise
    ? "is a promise: write db: await openDatabase(url)"
    : `must be a database from openDatabase(), not ${showValue(given)}`;
}
