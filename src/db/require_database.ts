import { showValue } from "../problem/show_value.ts";

/**
 * Requires that a value is an open database; throws a message for the usual mistakes: a URL that
 * was not opened, a missing `await`. `subject` begins the message, e.g. `Cannot start`.
 */
export function requireDatabase(given: unknown, subject: string): void {
  if (typeof given === "object" && given !== null && "driver" in given) return;
  throw new Error(`${subject}: ${fault(given)}`);
}

function fault(given: unknown): string {
  if (given === undefined) return "db is missing: give it db: await openDatabase(url)";
  // The text itself is not shown: a URL may hold a password.
  if (typeof given === "string") return "db is a text: open it by db: await openDatabase(url)";
  if (given instanceof Promise) return "db is a promise: write db: await openDatabase(url)";
  return `db must be a database from openDatabase(), not ${showValue(given)}`;
}
