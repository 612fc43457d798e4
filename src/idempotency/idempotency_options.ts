import { type Described, either, group, type OptionValues } from "../options/option.ts";
import { off, oneOf, whole } from "../options/option_kinds.ts";

/** The options of idempotency, for requests with an `Idempotency-Key`. */
export interface IdempotencyOptions {
  /**
   * Where keys and responses are stored: in the key-value store, or in the database of the
   * resource, within the transaction of the write. Default: `kv`.
   */
  readonly storage?: "kv" | "db" | undefined;
  /** How long a response can be replayed, in milliseconds. Default: a day. */
  readonly ttlMs?: number | undefined;
}

const members = {
  storage: oneOf("kv", "db").default("kv"),
  // The limit keeps the expiry within the range of dates that can be stored.
  ttlMs: whole({ from: 1, to: 366 * 86_400_000 }).default(24 * 3_600_000),
} satisfies Described<IdempotencyOptions>;

export const idempotencyOptionRules = either(
  off(),
  group(members),
).default({});

export type ResolvedIdempotencyOptions = OptionValues<typeof members>;
