import { type Described, either, group, type ReadGroup } from "../../options/option.ts";
import { other, timerMs, whole } from "../../options/option_kinds.ts";

/** The options of the search outbox: how often it is drained, and when what fails is tried again. */
export interface SearchOutboxOptions {
  /** How often it is drained; 2,000 unless set. */
  readonly intervalMs?: number | undefined;
  /** The most entries of one drain; 100 unless set. */
  readonly batchSize?: number | undefined;
  /** After so many attempts an entry is dead; 10 unless set. */
  readonly maxAttempts?: number | undefined;
  /** The delay after the n-th attempt is this times 2 to the power of n; 1,000 unless set. */
  readonly backoffBaseMs?: number | undefined;
  /** How often all rows are indexed again, to repair what no entry says; a day unless set. */
  readonly sweepIntervalMs?: number | false | undefined;
}

const members = {
  intervalMs: timerMs().unlessSet(2_000),
  batchSize: whole({ from: 1, to: 1_000 }).unlessSet(100),
  maxAttempts: whole({ from: 1, to: 1_000 }).unlessSet(10),
  backoffBaseMs: timerMs().unlessSet(1_000),
  sweepIntervalMs: either(
    other<false>("false", (given) => given === false),
    whole({ from: 60_000 }),
  ).unlessSet(86_400_000),
} satisfies Described<SearchOutboxOptions>;

/** The options of the search outbox, described. */
export const searchOutboxOptions = group(members).unlessSet({});

/** The options of the search outbox with their defaults. */
export type ResolvedSearchOutboxOptions = ReadGroup<typeof members>;
