import { nonceRange } from "./nonce_range.ts";
import { type Challenge, createNonceSearch } from "./nonce_search.ts";
import { startSearchWorkers } from "./search_workers.ts";
import { compileSearch, createSimdScan } from "./simd_scan.ts";

/** How to search. */
export interface SolveOptions {
  /** Ends the search; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Workers for a challenge that is worth it: one core less than there are, at most 8. */
  readonly workers?: number | undefined;
  /** Makes a worker that runs a script; from a `data:` URL unless set. */
  readonly makeWorker?: ((script: string) => Worker) | undefined;
}

/**
 * Finds the nonce for a challenge: `sha256(token + ":" + nonce)` begins with so many zero bits. It
 * searches with workers and vectors where it can, and without where it must; this thread goes on
 * with other work meanwhile. Throws a RangeError for a difficulty over 32, which nobody solves in time.
 */
export async function solve(challenge: Challenge, options: SolveOptions = {}): Promise<string> {
  const { token, difficulty } = challenge;
  const { signal } = options;
  if (!Number.isInteger(difficulty) || difficulty < 0 || difficulty > max) {
    throw new RangeError(`Cannot solve a challenge of difficulty ${difficulty}`);
  }
  signal?.throwIfAborted();
  const { at } = nonceRange(token, 0);
  const module = difficulty < worthCompiling ? null : await compileSearch(at);
  const fast = module === null ? null : await createSimdScan(module);
  const search = createNonceSearch(challenge, fast === null ? null : { at, scan: fast });
  const wake = () => search.wake();
  signal?.addEventListener("abort", wake);
  const crew = module === null ? null : startSearchWorkers({
    ...challenge,
    module,
    workers: difficulty < worthWorkers ? 0 : options.workers ?? usualWorkers(),
    makeWorker: options.makeWorker ?? dataWorker,
    takeCounter: search.takeCounter,
    onFound: search.propose,
    onChange: wake,
  });
  try {
    for (;;) {
      signal?.throwIfAborted();
      const nonce = search.found();
      if (nonce !== null) return nonce;
      if (search.isTrusted() && crew !== null && crew.readyCount > 0) await search.nextEvent();
      else {
        search.searchPart();
        await nextTurn();
      }
    }
  } finally {
    signal?.removeEventListener("abort", wake);
    crew?.stop();
  }
}

const max = 32;

/** Below it the plain search is done before a module is compiled. */
const worthCompiling = 14;

/** Below it one thread is done before a worker has started. */
const worthWorkers = 19;

function usualWorkers(): number {
  return Math.min(Math.max(navigator.hardwareConcurrency - 1, 1), 8);
}

function dataWorker(script: string): Worker {
  return new Worker(`data:text/javascript,${encodeURIComponent(script)}`, { type: "module" });
}

/**
 * Lets the thread do what waits. A message to itself would come sooner than a timer, but Deno takes
 * dozens of messages before it looks at anything else.
 */
function nextTurn(): Promise<void> {
  // deno-lint-ignore project/no-ambient -- a client has no Runtime: it lives in browsers too
  return new Promise((resolve) => setTimeout(resolve, 0));
}
