import { type Described, either, group, type ReadGroup } from "../options/option.ts";
import { oneOf, other, whole } from "../options/option_kinds.ts";

/** The options of idempotency, for requests with an `Idempotency-Key`. */
export interface IdempotencyOptions {
  /**
   * The storage of keys and responses: the key-value store, or the database of the resource. The
   * database stores them in the transaction of the write. `kv` unless set.
   */
  readonly storage?: "kv" | "db" | undefined;
  /** How long a response is replayed, in milliseconds; a day unless set. */
  readonly ttlMs?: number | undefined;
}

const members = {
  storage: oneOf("kv", "db").default("kv"),
  // An expiry beyond the range of dates could not be stored.
  ttlMs: whole({ from: 1, to: 366 * 86_400_000 }).default(24 * 3_600_000),
} satisfies Described<IdempotencyOptions>;

/** Describes the options of idempotency. */
export const idempotencyOptions = either(
  other<false>("false", (given) => given === false),
  group(members),
).default({});

/** The options of idempotency with their defaults. */
export type ResolvedIdempotencyOptions = ReadGroup<typeof members>;
