import { nonceRange, rangeSize } from "./nonce_range.ts";
import { searchInput } from "./simd_scan.ts";

/** Workers that search, each in ranges of its own. */
export interface SearchWorkers {
  /** Workers that have said that they are ready and were not lost since. */
  readonly readyCount: number;
  /** Lets all of them go. */
  stop(): void;
}

/** What to search for, and whom to tell. */
export interface SearchWorkersOptions {
  readonly token: string;
  readonly difficulty: number;
  /** The search, compiled for the ranges of this token. */
  readonly module: WebAssembly.Module;
  readonly workers: number;
  /** Makes a worker that runs this script; may throw where there are none. */
  makeWorker(script: string): Worker;
  /** Gives a range that nobody else searches. */
  takeCounter(): number;
  /** Called with what a worker takes for a solution: this index of this range. */
  onFound(counter: number, index: number): void;
  /** Called when the number of those at work has changed. */
  onChange(): void;
}

/**
 * Starts workers. One that cannot be made, fails or falls silent costs its part of the speed and
 * nothing else: there are more nonces than anybody searches, so no range has to be searched again.
 */
export function startSearchWorkers(orders: SearchWorkersOptions): SearchWorkers {
  const ready = new Set<Worker>();
  const all = new Set<Worker>();
  for (let i = 0; i < orders.workers; i++) {
    const worker = makeWorker(orders);
    if (worker === null) break;
    all.add(worker);
    worker.onmessage = ({ data }: MessageEvent<WorkerReport>) => hear(worker, data);
    worker.onerror = (event) => {
      event.preventDefault();
      lose(worker);
    };
    worker.onmessageerror = () => lose(worker);
    worker.postMessage({ module: orders.module });
  }

  function hear(worker: Worker, report: WorkerReport): void {
    if (!ready.has(worker)) {
      ready.add(worker);
      orders.onChange();
    }
    if (report === "more") worker.postMessage({ ranges: takeRanges(orders) });
    else orders.onFound(report.counter, report.index);
  }

  function lose(worker: Worker): void {
    worker.terminate();
    all.delete(worker);
    if (ready.delete(worker)) orders.onChange();
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

/** What a worker says: that it wants ranges, or where it found something. */
type WorkerReport = "more" | { readonly counter: number; readonly index: number };

/** A message for each half million nonces: 40 ms of work. */
const rangesAtOnce = 8;

/**
 * The whole of a worker. It is a text, so that it needs no address of its own, whatever bundles
 * this; the ranges it gets are ready to be written to the memory of the search.
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

function makeWorker(orders: SearchWorkersOptions): Worker | null {
  try {
    return orders.makeWorker(script);
  } catch {
    // No workers here, or not for this page: the search goes on in this thread, by contract.
    return null;
  }
}

function takeRanges({ token, difficulty, takeCounter }: SearchWorkersOptions): readonly unknown[] {
  return Array.from({ length: rangesAtOnce }, () => {
    const counter = takeCounter();
    return { counter, input: searchInput(nonceRange(token, counter), difficulty) };
  });
}
