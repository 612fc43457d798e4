import { requireKnownOptions } from "../problem/require_known_options.ts";
import { showValue } from "../problem/show_value.ts";

/**
 * The options of idempotency: how repetitions of requests with an `Idempotency-Key` are recognised.
 */
export interface IdempotencyOptions {
  /**
   * Where keys and answers are stored: in the key-value store, or in the database of the resource, in
   * the transaction of the write itself. `kv` unless set.
   */
  readonly storage?: "kv" | "db" | undefined;
  /** How long an answer is replayed, in milliseconds; a day unless set. */
  readonly ttlMs?: number | undefined;
}

/** The options of idempotency with their defaults. */
export interface ResolvedIdempotencyOptions {
  readonly storage: "kv" | "db";
  readonly ttlMs: number;
}

/** Checks the options of idempotency once, at start; null where the header is ignored. */
export function resolveIdempotencyOptions(
  options: false | IdempotencyOptions | undefined,
): ResolvedIdempotencyOptions | null {
  if (options === false) return null;
  const given: unknown = options ?? {};
  if (typeof given !== "object" || given === null) {
    throw new Error(
      `Cannot start: idempotency must be false or an object, not ${showValue(given)}`,
    );
  }
  requireKnownOptions(given, knownOptions, "Cannot start: idempotency");
  const { storage = "kv", ttlMs = 24 * 3_600_000 } = options ?? {};
  if (storage !== "kv" && storage !== "db") {
    throw new Error(`Cannot use idempotency.storage ${showValue(storage)}: it is "kv" or "db"`);
  }
  // An expiry beyond the range of dates could not be stored.
  if (!Number.isSafeInteger(ttlMs) || ttlMs <= 0 || ttlMs > maxTtlMs) {
    throw new Error(
      `Cannot use idempotency.ttlMs ${ttlMs}: it must be a whole number over 0, and at most a year`,
    );
  }
  return { storage, ttlMs };
}

const maxTtlMs = 366 * 86_400_000;

const knownOptions: Readonly<Record<keyof IdempotencyOptions, true>> = {
  storage: true,
  ttlMs: true,
};
