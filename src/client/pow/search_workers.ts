import { nonceRange, rangeSize } from "./nonce_range.ts";
import { searchInput } from "./simd_scan.ts";

/** The workers that search for a nonce, each in its own ranges. */
export interface SearchWorkers {
  /** How many workers have reported that they are ready and were not lost since. */
  readonly readyCount: number;
  /** Terminates all of them. */
  stop(): void;
}

/** What the search workers look for, and their callbacks. */
export interface SearchWorkersOptions {
  readonly token: string;
  readonly difficulty: number;
  /** The search, compiled for the ranges of this token. */
  readonly module: WebAssembly.Module;
  readonly workers: number;
  /** Makes a worker that runs this script; may throw where there are none. */
  makeWorker(script: string): Worker;
  /** Reserves a range that is not searched elsewhere. */
  takeCounter(): number;
  /** Called with the solution that a worker reports: this index of this range. */
  onFound(counter: number, index: number): void;
  /** Called when `readyCount` has changed. */
  onChange(): void;
}

/**
 * Starts the workers that search for a nonce. One that cannot be made, fails or stops reporting
 * costs only its part of the speed: there are more nonces than a search needs, so no range has to
 * be searched again.
 */
export function startSearchWorkers(options: SearchWorkersOptions): SearchWorkers {
  const ready = new Set<Worker>();
  const all = new Set<Worker>();
  for (let i = 0; i < options.workers; i++) {
    const worker = makeWorker(options);
    if (worker === null) break;
    all.add(worker);
    worker.onmessage = ({ data }: MessageEvent<WorkerReport>) => receive(worker, data);
    worker.onerror = (event) => {
      event.preventDefault();
      drop(worker);
    };
    worker.onmessageerror = () => drop(worker);
    worker.postMessage({ module: options.module });
  }

  function receive(worker: Worker, report: WorkerReport): void {
    if (!ready.has(worker)) {
      ready.add(worker);
      options.onChange();
    }
    if (report === "more") worker.postMessage({ ranges: takeRanges(options) });
    else options.onFound(report.counter, report.index);
  }

  function drop(worker: Worker): void {
    worker.terminate();
    all.delete(worker);
    if (ready.delete(worker)) options.onChange();
  }

  return {
    get readyCount() {
      return ready.size;
    },
    stop() {
      for (const worker of all) worker.terminate();
      all.clear();
      ready.clear();
    },
  };
}

/** A message of a worker: it wants ranges, or it has found a solution. */
type WorkerReport = "more" | { readonly counter: number; readonly index: number };

/** One message for half a million nonces: 40 ms of work. */
const rangesAtOnce = 8;

/**
 * The script of a worker. It is a string, so that it needs no URL, whatever bundles this; the ranges
 * it receives are ready to be written to the memory of the search.
 */
const script = `
let memory, scan;
onmessage = ({ data: { module, ranges = [] } }) => {
  if (module !== undefined) {
    const { exports } = new WebAssembly.Instance(module);
    memory = new Int32Array(exports.memory.buffer);
    scan = exports.scan;
  }
  for (const { counter, input } of ranges) {
    memory.set(input);
    const index = scan(0, ${rangeSize});
    if (index >= 0) return postMessage({ counter, index });
  }
  postMessage("more");
};
`;

function makeWorker(options: SearchWorkersOptions): Worker | null {
  try {
    return options.makeWorker(script);
  } catch {
    // No workers here, or not for this page: by contract the search then runs in this thread.
    return null;
  }
}

function takeRanges({ token, difficulty, takeCounter }: SearchWorkersOptions): readonly unknown[] {
  return Array.from({ length: rangesAtOnce }, () => {
    const counter = takeCounter();
    return { counter, input: searchInput(nonceRange(token, counter), difficulty) };
  });
}
