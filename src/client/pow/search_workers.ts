import { nonceRange, nonceRangeSize } from "./nonce_range.ts";
import { simdScanInput } from "./simd_scan.ts";

export interface SearchWorkersOptions {
  readonly token: string;
  readonly difficulty: number;
  readonly module: WebAssembly.Module;
  readonly workers: number;
  makeWorker(script: string): Worker;
  takeCounter(): number;
  onFound(counter: number, index: number): void;
  /** Called when the number of workers that are ready to search has changed. */
  onChange(): void;
}

/** If a worker fails or cannot be created, the search is only slower, but misses no solution. */
export function startSearchWorkers(options: SearchWorkersOptions) {
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

type WorkerReport = "more" | { readonly counter: number; readonly index: number };

/** The number of ranges in a message to a worker: half a million nonces, or 40 ms of work. */
const rangesAtOnce = 8;

/** The script of a worker, as a string, so that bundlers need no URL. */
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
    const index = scan(0, ${nonceRangeSize});
    if (index >= 0) return postMessage({ counter, index });
  }
  postMessage("more");
};
`;

function makeWorker(options: SearchWorkersOptions): Worker | null {
  try {
    return options.makeWorker(script);
  } catch {
    return null;
  }
}

function takeRanges({ token, difficulty, takeCounter }: SearchWorkersOptions): readonly unknown[] {
  return Array.from({ length: rangesAtOnce }, () => {
    const counter = takeCounter();
    return { counter, input: simdScanInput(nonceRange(token, counter), difficulty) };
  });
}
