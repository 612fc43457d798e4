import { hasLeadingZeroBits } from "../../protocol/pow_protocol.ts";
import { createSha256 } from "../../protocol/sha256.ts";
import { nonceAt, nonceRange, rangeSize, type Scan } from "./nonce_range.ts";
import { createPlainScan } from "./plain_scan.ts";

/** The challenge that a nonce search solves, from the headers of a 428. */
export interface Challenge {
  /** `Service-PoW-Challenge`. */
  readonly token: string;
  /** `Service-PoW-Difficulty`. */
  readonly difficulty: number;
}

/** The state of one nonce search, to which this thread and the workers contribute. */
export interface NonceSearch {
  /** The nonce, once it is found. */
  found(): string | null;
  /** Reserves a range that is not searched elsewhere. */
  takeCounter(): number;
  /** Searches for some milliseconds in this thread. */
  searchPart(): void;
  /** Takes the solution of a scan or a worker once it is verified. */
  propose(counter: number, index: number): void;
  /** False once a proposal was wrong: then only the plain scan is used. */
  isTrusted(): boolean;
  /** Resolves at the next {@link wake}. */
  nextEvent(): Promise<void>;
  wake(): void;
}

/** A faster {@link Scan} for a nonce search, for ranges whose word `at` varies. */
export interface FastScan {
  readonly at: number;
  readonly scan: Scan;
}

/** Starts a nonce search. */
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

/** The nonces of about ten milliseconds; with vectors a whole range takes five. */
const plainPart = 32_768;

function solves(token: string, nonce: string, difficulty: number): boolean {
  const message = new TextEncoder().encode(`${token}:${nonce}`);
  return hasLeadingZeroBits(createSha256().words(message, message.length), difficulty);
}
