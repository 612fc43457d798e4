import { type Described, either, group, type ReadGroup } from "../options/option.ts";
import { oneOf, other, whole } from "../options/option_kinds.ts";

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

const members = {
  storage: oneOf("kv", "db").unlessSet("kv"),
  // An expiry beyond the range of dates could not be stored.
  ttlMs: whole({ from: 1, to: 366 * 86_400_000 }).unlessSet(24 * 3_600_000),
} satisfies Described<IdempotencyOptions>;

/** The options of idempotency, described. */
export const idempotencyOptions = either(
  other<false>("false", (given) => given === false),
  group(members),
).unlessSet({});

/** The options of idempotency with their defaults. */
export type ResolvedIdempotencyOptions = ReadGroup<typeof members>;
