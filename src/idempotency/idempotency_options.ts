import { type Described, either, group, type OptionValues } from "../options/option.ts";
import { off, oneOf, whole } from "../options/option_kinds.ts";

/** The options for requests with an `Idempotency-Key`. */
export interface IdempotencyOptions {
  /**
   * `kv` stores responses in the key-value store. `db` stores each response in the database of the
   * resource, in the transaction of the write. Default: `kv`.
   */
  readonly storage?: "kv" | "db" | undefined;
  /** How long a response can be replayed, in milliseconds. Default: a day. */
  readonly ttlMs?: number | undefined;
}

const members = {
  storage: oneOf("kv", "db").default("kv"),
  // With a longer time, the expiry could exceed the range of dates that databases can store.
  ttlMs: whole({ from: 1, to: 366 * 86_400_000 }).default(24 * 3_600_000),
} satisfies Described<IdempotencyOptions>;

export const idempotencyOptionRules = either(off(), group(members)).default({});

export type ResolvedIdempotencyOptions = OptionValues<typeof members>;
