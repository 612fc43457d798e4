import { type Described, either, group, type OptionValues } from "../../options/option.ts";
import { off, timerMs, whole } from "../../options/option_kinds.ts";

/** The options of the search outbox: how often it is drained, and when failures are retried. */
export interface SearchOutboxOptions {
  /** The interval of drains, in milliseconds. Default: 2,000. */
  readonly intervalMs?: number | undefined;
  /** The maximum number of entries of one drain. Default: 100. */
  readonly batchSize?: number | undefined;
  /** The number of attempts after which an entry is dead. Default: 10. */
  readonly maxAttempts?: number | undefined;
  /** Base of the delays, in ms. The delay after attempt n is the base × 2^n. Default: 1,000. */
  readonly backoffBaseMs?: number | undefined;
  /** How often all rows are indexed again, in milliseconds; false for never. Default: a day. */
  readonly sweepIntervalMs?: number | false | undefined;
}

const members = {
  intervalMs: timerMs().default(2_000),
  batchSize: whole({ from: 1, to: 1_000 }).default(100),
  maxAttempts: whole({ from: 1, to: 1_000 }).default(10),
  backoffBaseMs: timerMs().default(1_000),
  sweepIntervalMs: either(
    off(),
    whole({ from: 60_000 }),
  ).default(86_400_000),
} satisfies Described<SearchOutboxOptions>;

export const searchOutboxOptionDescriptions = group(members).default({});

export type ResolvedSearchOutboxOptions = OptionValues<typeof members>;
