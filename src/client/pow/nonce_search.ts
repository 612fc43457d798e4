import { hasLeadingZeroBits } from "../../protocol/pow_protocol.ts";
import { sha256 } from "../../protocol/sha256.ts";
import { nonceAt, nonceRange, nonceRangeSize, preferredWord, type Scan } from "./nonce_range.ts";
import { createPlainScan } from "./plain_scan.ts";

/** A proof-of-work challenge, from the headers of a response with status 428. */
export interface Challenge {
  /** The value of the `Service-PoW-Challenge` header. */
  readonly token: string;
  /** The number of leading zero bits, from the `Service-PoW-Difficulty` header. */
  readonly difficulty: number;
}

export interface NonceSearch {
  found(): string | null;
  takeCounter(): number;
  /** Searches in this thread for some milliseconds. */
  searchPart(): void;
  propose(counter: number, index: number): void;
  /** Returns false after SIMD or a worker found a wrong nonce. This thread then uses no SIMD. */
  isTrusted(): boolean;
  nextEvent(): Promise<void>;
  wake(): void;
}

export function createNonceSearch(
  { token, difficulty }: Challenge,
  fast: Scan | null,
): NonceSearch {
  const plain = createPlainScan();
  let nonce: string | null = null;
  let isTrusted = true;
  let counter = 0;
  let part = { counter: 0, from: nonceRangeSize };
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
      if (part.from >= nonceRangeSize) part = { counter: takeCounter(), from: 0 };
      const range = nonceRange(token, part.counter);
      const isFast = isTrusted && fast !== null && range.at === preferredWord;
      const from = part.from;
      const to = from + (isFast ? nonceRangeSize : plainPart);
      part.from = to;
      const index = (isFast ? fast : plain)(range, { difficulty, from, to });
      if (index >= 0) propose(part.counter, index);
    },
    nextEvent: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
    wake: () => wake(),
  };
}

/** The number of nonces that one call scans without SIMD, in about 10 ms. */
const plainPart = 32_768;

function solves(token: string, nonce: string, difficulty: number): boolean {
  return hasLeadingZeroBits(sha256(new TextEncoder().encode(`${token}:${nonce}`)), difficulty);
}
