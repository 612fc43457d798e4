import { type Described, either, group, type OptionValues } from "../../options/option.ts";
import { off, timerMs, whole } from "../../options/option_kinds.ts";

/** The options of the search outbox: when entries are processed, and when failures are retried. */
export interface SearchOutboxOptions {
  /** Milliseconds between two runs that process due entries. Default: 2,000. */
  readonly intervalMs?: number | undefined;
  /** Maximum number of entries in one run. Default: 100. */
  readonly batchSize?: number | undefined;
  /** The number of attempts after which an entry is dead. Default: 10. */
  readonly maxAttempts?: number | undefined;
  /** Base of the delays in ms: base × 2^n after the n-th attempt. Default: 1,000. */
  readonly backoffBaseMs?: number | undefined;
  /** Milliseconds after which all rows are indexed again; false for never. Default: a day. */
  readonly sweepIntervalMs?: number | false | undefined;
}

const members = {
  intervalMs: timerMs().default(2_000),
  batchSize: whole({ from: 1, to: 1_000 }).default(100),
  maxAttempts: whole({ from: 1, to: 1_000 }).default(10),
  backoffBaseMs: timerMs().default(1_000),
  sweepIntervalMs: either(off(), whole({ from: 60_000 })).default(86_400_000),
} satisfies Described<SearchOutboxOptions>;

export const searchOutboxOptionRules = group(members).default({});

export type ResolvedSearchOutboxOptions = OptionValues<typeof members>;
