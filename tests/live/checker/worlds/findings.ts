/** A promise of the contract, by which a finding is known. */
export const rules = [
  /** No stream is refused but for want of room. */
  "opens",
  /** Every event has the members that it must have, and no others. */
  "members",
  /** `added` and `changed` carry `id` beside `seq`. */
  "ids",
  /** A rolled back write is sent to no client. */
  "undone",
  /** No event carries a row that this user could not have listed since the step. */
  "leak",
  /** The same of rows that are included. */
  "leak-included",
  /** `added` names rows that the client does not hold, `changed` and `removed` rows that it holds. */
  "types",
  /** `seq` grows for each row. */
  "order",
  /** At a position a client holds the rows of one moment, and never of an earlier one. */
  "moments",
  /** Each aggregate is the answer at one moment, and never at an earlier one. */
  "aggregate-moments",
  /** When all is quiet, what a client holds is what its list shows. */
  "quiet",
  /** When all is quiet, the last aggregate is what `/aggregate` answers, digit by digit. */
  "aggregate-quiet",
  /** What a list shows is what the tables hold and the rights allow. */
  "list",
  /** The service observes no internal fault. */
  "observed",
  /** Writes are answered. */
  "writes",
] as const;

/** One of them. */
export type Rule = typeof rules[number];

/** What was wrong, and for which client. */
export interface Finding {
  readonly rule: Rule;
  readonly text: string;
}

/** What was found in a world; those that are overlooked hide no others. */
export class Findings {
  readonly #overlooked: ReadonlySet<Rule>;
  #first: Finding | null = null;

  /** Nothing was found yet. */
  constructor(overlooked: ReadonlySet<Rule>) {
    this.#overlooked = overlooked;
  }

  /** What was wrong first; null where nothing was. */
  get first(): Finding | null {
    return this.#first;
  }

  /** Something is wrong. */
  add(rule: Rule, text: string): void {
    if (!this.#overlooked.has(rule)) this.#first ??= { rule, text };
  }
}
