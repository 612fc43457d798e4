import { hasLeadingZeroBits } from "../protocol/proof_of_work.ts";
import { createSha256 } from "../protocol/sha256.ts";
import { nonceAt, nonceRange, rangeSize } from "./nonce_range.ts";
import { createPlainScan, type Scan } from "./plain_scan.ts";

/** A challenge, as the headers of a 428 tell it. */
export interface Challenge {
  /** `Service-PoW-Challenge`. */
  readonly token: string;
  /** `Service-PoW-Difficulty`. */
  readonly difficulty: number;
}

/** The state of one search, which this thread and the workers share. */
export interface NonceSearch {
  /** The nonce, once there is one. */
  found(): string | null;
  /** Gives a range that nobody else searches. */
  takeCounter(): number;
  /** Searches some milliseconds' worth here. */
  searchPart(): void;
  /** Takes what somebody holds for a solution, once it is proved. */
  propose(counter: number, index: number): void;
  /** False once a proposal was wrong: then only the plain search is believed. */
  isTrusted(): boolean;
  /** Resolves at the next {@link wake}. */
  nextEvent(): Promise<void>;
  wake(): void;
}

/** A faster {@link Scan}, for ranges whose word `at` varies. */
export interface FastScan {
  readonly at: number;
  readonly scan: Scan;
}

/** Begins a search. */
export function createNonceSearch(
  { token, difficulty }: Challenge,
  fast: FastScan | null,
): NonceSearch {
  const plain = createPlainScan();
  let nonce: string | null = null;
  let isTrusted = true;
  let counter = 0;
  let part = { counter: 0, from: rangeSize };
  let wake = () => {};

  function takeCounter(): number {
    return counter++;
  }

  function propose(counter: number, index: number): void {
    const proposed = nonceAt(nonceRange(token, counter), index);
    if (solves(token, proposed, difficulty)) nonce ??= proposed;
    else isTrusted = false;
    wake();
  }

  return {
    found: () => nonce,
    takeCounter,
    propose,
    isTrusted: () => isTrusted,
    searchPart() {
      if (part.from >= rangeSize) part = { counter: takeCounter(), from: 0 };
      const range = nonceRange(token, part.counter);
      const isFast = isTrusted && fast !== null && fast.at === range.at;
      const from = part.from;
      const to = from + (isFast ? rangeSize : plainPart);
      part.from = to;
      const index = (isFast ? fast.scan : plain)(range, { difficulty, from, to });
      if (index >= 0) propose(part.counter, index);
    },
    nextEvent: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
    wake: () => wake(),
  };
}

/** About ten milliseconds' worth; a whole range takes five with vectors. */
const plainPart = 32_768;

function solves(token: string, nonce: string, difficulty: number): boolean {
  const message = new TextEncoder().encode(`${token}:${nonce}`);
  return hasLeadingZeroBits(createSha256().words(message, message.length), difficulty);
}
