import { nonceRange, preferredWord } from "./nonce_range.ts";
import { type Challenge, createNonceSearch } from "./nonce_search.ts";
import { startSearchWorkers } from "./search_workers.ts";
import { compileSimdScan, createSimdScan } from "./simd_scan.ts";

/** Options for solving a proof-of-work challenge in the client. */
export interface SolveOptions {
  /** Aborts the search. The promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The number of workers for difficult challenges. Default: the cores minus one, at most 8. */
  readonly workers?: number | undefined;
  /** Creates a worker that runs a script. Default: a worker from a `data:` URL. */
  readonly makeWorker?: ((script: string) => Worker) | undefined;
}

/** Uses workers and SIMD if available. Throws a RangeError for a difficulty over 32. */
export async function findNonce(
  challenge: Challenge,
  { signal, workers: wanted, makeWorker = dataWorker }: SolveOptions,
): Promise<string> {
  const { token, difficulty } = challenge;
  if (!Number.isInteger(difficulty) || difficulty < 0 || difficulty > maxDifficulty) {
    throw new RangeError(`Cannot solve a challenge of difficulty ${difficulty}`);
  }
  signal?.throwIfAborted();
  const isFast = difficulty >= minForModule && nonceRange(token, 0).at === preferredWord;
  const module = isFast ? await compileSimdScan() : null;
  const search = createNonceSearch(challenge, module && await createSimdScan(module));
  const wake = () => search.wake();
  signal?.addEventListener("abort", wake);
  const workers = module === null ? null : startSearchWorkers({
    ...challenge,
    module,
    workers: difficulty < minForWorkers ? 0 : wanted ?? defaultWorkers(),
    makeWorker,
    takeCounter: search.takeCounter,
    onFound: search.propose,
    onChange: wake,
  });
  try {
    for (;;) {
      signal?.throwIfAborted();
      const nonce = search.found();
      if (nonce !== null) return nonce;
      if (search.isTrusted() && workers !== null && workers.readyCount > 0) {
        await search.nextEvent();
      } else {
        search.searchPart();
        await nextTurn();
      }
    }
  } finally {
    signal?.removeEventListener("abort", wake);
    workers?.stop();
  }
}

const maxDifficulty = 32;

/** Below this difficulty, a search in TypeScript is faster than compiling WebAssembly. */
const minForModule = 14;

/** Below this difficulty, a search in this thread is faster than the start of a worker. */
const minForWorkers = 19;

function defaultWorkers(): number {
  // Node 20 has no `navigator`, although the types declare this global.
  const { navigator } = globalThis as Partial<typeof globalThis>;
  return Math.min(Math.max((navigator?.hardwareConcurrency ?? 1) - 1, 1), 8);
}

function dataWorker(script: string): Worker {
  return new Worker(`data:text/javascript,${encodeURIComponent(script)}`, { type: "module" });
}

/** Resolves after other tasks have run. In Deno, a MessageChannel would delay other tasks. */
function nextTurn(): Promise<void> {
  // deno-lint-ignore project/no-ambient -- a client has no Runtime: it lives in browsers too
  return new Promise((resolve) => setTimeout(resolve, 0));
}
