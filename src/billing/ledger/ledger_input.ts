import { Problem } from "../../problem/problem.ts";
import { showValue } from "../../problem/show_value.ts";

/** Parses an amount of credits. Throws a 422 unless it is a whole number from 1 to 2^53 − 1. */
export function parseAmount(given: unknown, path: string = "amount"): number {
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= 1) return given;
  throw wrongInput(path, `must be a whole number from 1 to 2^53 - 1, not ${showValue(given)}`);
}

/** Parses the name of an account. Throws a 422 unless it is a string of 1 to 1,024 characters. */
export function parseAccount(given: unknown): string {
  return parseText(given, "account", 1_024);
}

/** Parses an idempotency key or reservation id. Throws a 422 unless it has 1 to 255 characters. */
export function parseLedgerKey(given: unknown, path: string = "key"): string {
  return parseText(given, path, 255);
}

/** Parses an optional reason. Throws a 422 unless it is a string of at most 200 characters. */
export function parseReason(given: unknown): string | undefined {
  return given === undefined ? undefined : parseText(given, "reason", 200);
}

/** Parses the lifetime of a reservation. Throws a 422 unless it is from 1 ms to 30 days. */
export function parseLifetime(given: unknown): number {
  const isLifetime = typeof given === "number" && Number.isSafeInteger(given) && given >= 1 &&
    given <= maxLifetimeMs;
  if (isLifetime) return given;
  const found = showValue(given);
  throw wrongInput(
    "expiresInMs",
    `must be a whole number from 1 to ${maxLifetimeMs}, not ${found}`,
  );
}

const maxLifetimeMs = 30 * 86_400_000;

function parseText(given: unknown, path: string, maxLength: number): string {
  const isText = typeof given === "string" && given !== "" && given.length <= maxLength &&
    // UTF-8 has no lone surrogates: as U+FFFD, two different names would get the same key.
    given.isWellFormed();
  if (isText) return given;
  throw wrongInput(path, `must be a text of 1 to ${maxLength} characters`);
}

function wrongInput(path: string, message: string): Problem {
  return new Problem("validation-error", `Cannot use these credits: ${path} ${message}`, {
    details: { errors: [{ path, message }] },
  });
}
