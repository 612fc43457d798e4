import { type Backoff, waitBackoff } from "../../runtime/backoff.ts";
import { Semaphore } from "../../runtime/queues/semaphore.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { reportFailure } from "../printable.ts";
import type { StopSignal } from "../../listen/stop_signals.ts";
import { startWorker, WorkerEnded, type WorkerExit, type WorkerProcess } from "./worker_process.ts";
import { MetricsGatherer } from "./metrics_gatherer.ts";
import { KernelBalancer } from "./kernel_balancer.ts";
import type { WorkerShare } from "./worker_share.ts";

export interface WorkerGroupOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly share: Omit<WorkerShare, "number">;
}

export class WorkerGroup {
  readonly #options: WorkerGroupOptions;
  readonly #runtime: Runtime;
  readonly #processes = new Set<WorkerProcess>();
  /** Workers start to listen one after the other, so that the balancer knows their order. */
  readonly #listening = new Semaphore(1);
  readonly #metrics: MetricsGatherer;
  #balancer: KernelBalancer | null = null;
  #isStopping = false;

  constructor(options: WorkerGroupOptions, runtime: Runtime) {
    this.#options = options;
    this.#runtime = runtime;
    this.#metrics = new MetricsGatherer(runtime.clock);
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Starts a worker. Rejects if the worker ends, or if the first one cannot use the port. */
  async start(number: number): Promise<WorkerProcess> {
    const worker = this.#spawn(number);
    await this.#listen(worker);
    return worker;
  }

  /** Starts a replacement, which listens when its app is ready. Rejects if it ends earlier. */
  async startReady(number: number): Promise<WorkerProcess> {
    const worker = this.#spawn(number);
    await worker.prepared;
    const cancel = this.#runtime.clock.after(readyWithinMs, () => worker.kill(notReady));
    await worker.ready;
    cancel();
    await this.#listen(worker);
    return worker;
  }

  #spawn(number: number): WorkerProcess {
    if (this.#isStopping) throw new Error("No worker starts any more");
    const { program, args, share } = this.#options;
    const worker = startWorker(program, args, { ...share, number }, {
      onListening: (port) => {
        this.#metrics.add(worker);
        this.#balancer?.add(worker, port);
      },
      onReadings: (report) => this.#metrics.take(worker, report),
      onDisconnected: () => this.#metrics.remove(worker),
      onLeft: () => this.#balancer?.remove(worker),
    });
    this.#processes.add(worker);
    void worker.ended.then(() => this.#processes.delete(worker));
    return worker;
  }

  async #listen(worker: WorkerProcess): Promise<void> {
    const { host, port } = await worker.prepared;
    await this.#listening.run(async () => {
      this.#balancer ??= new KernelBalancer(host, port);
      worker.send(this.#balancer.listenOrder());
      await worker.listening;
    });
    this.#runtime.observe({ kind: "worker_started", worker: worker.number, pid: worker.pid });
  }

  async retire(worker: WorkerProcess): Promise<void> {
    if (worker.hasEnded()) return;
    this.#balancer?.retire(worker);
    await this.#untilEnded(worker);
  }

  /** Stops all workers and waits for their end. Pass null if the workers already got the signal. */
  async stop(signal: StopSignal | null): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#processes].map(async (worker) => {
      if (signal !== null) worker.stop(signal);
      await this.#untilEnded(worker);
    }));
  }

  kill(): void {
    for (const worker of this.#processes) worker.kill();
  }

  async #untilEnded(worker: WorkerProcess): Promise<void> {
    const killLate = ({ stopDeadlineMs }: { readonly stopDeadlineMs: number }) =>
      this.#runtime.clock.after(stopDeadlineMs + graceMs, () => worker.kill());
    void worker.prepared.then(killLate, () => null);
    await worker.ended;
  }
}

/** How long the app of a replacement may take to become ready, in milliseconds. */
const readyWithinMs = 30_000;

const notReady = `SIGKILL, since it was not ready within ${readyWithinMs} ms`;

/** How long a worker may take to end after its last response, in milliseconds. */
const graceMs = 5_000;

interface Slot {
  readonly number: number;
  worker: WorkerProcess;
  replacing: Promise<void> | null;
}

export class Supervisor {
  readonly #group: WorkerGroup;
  readonly #runtime: Runtime;
  readonly #slots: Slot[] = [];
  /** One round of replacements runs at a time, and one more round can wait. */
  readonly #rounds = new Semaphore(1, 1);
  readonly #exitCode = Promise.withResolvers<number>();
  #quickEnds = 0;
  #stoppedAt: number | null = null;

  constructor(group: WorkerGroup, runtime: Runtime) {
    this.#group = group;
    this.#runtime = runtime;
  }

  async run(count: number): Promise<number> {
    try {
      // The first worker starts alone: an error that prevents every start is then printed once.
      const first = await this.#open(1);
      await Promise.all(Array.from({ length: count - 1 }, (_, index) => this.#open(index + 2)));
      console.log((await first.listening).banner);
    } catch (error) {
      if (this.#group.isStopping) return 0;
      return error instanceof WorkerEnded ? error.end.exitCode : reportFailure(error, 1);
    }
    return await this.#exitCode.promise;
  }

  replaceAll(): void {
    if (this.#rounds.isFull) return;
    void this.#rounds.run(async () => {
      for (const slot of this.#slots) {
        if (this.#group.isStopping || !await this.#replace(slot)) return;
      }
    });
  }

  stop(signal: StopSignal, reachedWorkers: boolean): void {
    const now = this.#runtime.clock.elapsedMs();
    if (this.#stoppedAt === null) {
      this.#stoppedAt = now;
      void this.#group.stop(reachedWorkers ? null : signal)
        .then(() => this.#exitCode.resolve(0));
    } else if (now - this.#stoppedAt > sameSignalMs) this.#group.kill();
  }

  async #open(number: number): Promise<WorkerProcess> {
    const worker = await this.#group.start(number);
    const slot: Slot = { number, worker, replacing: null };
    this.#slots.push(slot);
    this.#take(slot, worker);
    return worker;
  }

  #take(slot: Slot, worker: WorkerProcess): void {
    const { clock } = this.#runtime;
    const since = clock.elapsedMs();
    slot.worker = worker;
    void worker.ended.then(async (end) => {
      await slot.replacing;
      if (slot.worker !== worker || this.#group.isStopping) return;
      this.#quickEnds = clock.elapsedMs() - since < quickMs ? this.#quickEnds + 1 : 0;
      await this.#restart(slot, end);
    });
  }

  async #restart(slot: Slot, { pid, reason, exitCode }: WorkerExit): Promise<void> {
    this.#runtime.observe({ kind: "worker_ended", worker: slot.number, pid, reason });
    if (this.#quickEnds >= maxQuickEnds && this.#slots.every(({ worker }) => worker.hasEnded())) {
      console.error(`Cannot keep the workers running: ${maxQuickEnds} in a row ended at once`);
      return this.#exitCode.resolve(exitCode);
    }
    if (this.#quickEnds > 0) await waitBackoff(this.#quickEnds, this.#runtime, backoff);
    if (this.#group.isStopping) return;
    try {
      this.#take(slot, await this.#group.start(slot.number));
    } catch (error) {
      if (!(error instanceof WorkerEnded)) throw error;
      if (this.#group.isStopping) return;
      this.#quickEnds++;
      await this.#restart(slot, error.end);
    }
  }

  /** Replaces a worker. Returns false if the replacement failed, so that the old worker remains. */
  async #replace(slot: Slot): Promise<boolean> {
    const old = slot.worker;
    if (old.hasEnded()) return true;
    slot.replacing = this.#startReplacement(slot);
    await slot.replacing;
    slot.replacing = null;
    if (slot.worker === old) return false;
    await this.#group.retire(old);
    return true;
  }

  async #startReplacement(slot: Slot): Promise<void> {
    try {
      this.#take(slot, await this.#group.startReady(slot.number));
    } catch (error) {
      if (!(error instanceof WorkerEnded)) throw error;
      if (this.#group.isStopping) return;
      const { reason } = error.end;
      this.#runtime.observe({ kind: "worker_kept", worker: slot.number, reason });
    }
  }
}

/** A worker that ran for less than this time, in milliseconds, has ended quickly. */
const quickMs = 10_000;

/** If this many workers in sequence have ended quickly, and none runs, no more are started. */
const maxQuickEnds = 5;

const backoff: Backoff = { firstMs: 100, factor: 2, maxMs: 10_000 };

/** Signals within this time, in ms, count as one signal: a parent process may repeat a signal. */
const sameSignalMs = 100;
