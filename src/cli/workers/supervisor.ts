import { type Backoff, waitBackoff } from "../../runtime/backoff.ts";
import { Semaphore } from "../../runtime/queues/semaphore.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { reportFailure } from "../report_failure.ts";
import type { StopSignal } from "../stop_signals.ts";
import type { WorkerGroup } from "./worker_group.ts";
import { WorkerEnded, type WorkerExit, type WorkerProcess } from "./worker_process.ts";

/** The numbered place of a worker. Its replacement gets the same place. */
interface Slot {
  readonly number: number;
  worker: WorkerProcess;
  /** Resolves when the replacement is in the slot, or has failed. Null without a replacement. */
  replacing: Promise<void> | null;
}

/** Keeps a number of workers running, and replaces them on request. */
export class Supervisor {
  readonly #group: WorkerGroup;
  readonly #runtime: Runtime;
  readonly #slots: Slot[] = [];
  /** One round of replacements runs at a time, and one more can wait. */
  readonly #rounds = new Semaphore(1, 1);
  readonly #exitCode = Promise.withResolvers<number>();
  /** Number of consecutive workers that ended soon after their start. */
  #quickEnds = 0;
  #stoppedAt: number | null = null;

  constructor(group: WorkerGroup, runtime: Runtime) {
    this.#group = group;
    this.#runtime = runtime;
  }

  /** Starts the workers, then prints the banner. Resolves with the exit code. */
  async run(count: number): Promise<number> {
    try {
      // The first worker starts alone, so that a reason not to start is printed only once.
      const first = await this.#open(1);
      await Promise.all(Array.from({ length: count - 1 }, (_, index) => this.#open(index + 2)));
      console.log((await first.listening).banner);
    } catch (error) {
      if (this.#group.isStopping) return 0;
      return error instanceof WorkerEnded ? error.end.exitCode : reportFailure(error, 1);
    }
    return await this.#exitCode.promise;
  }

  /** Replaces all workers, one after the other, until a new worker fails to start. */
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

  /** Puts a running worker into a slot. When it ends, another worker is started for the slot. */
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

  /** Replaces the worker in a slot. Returns false if the old worker remains. */
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

/** A worker that lives shorter than this counts as ended quickly, in milliseconds. */
const quickMs = 10_000;

/** After this number of consecutive workers that ended quickly, no more are started. */
const maxQuickEnds = 5;

const backoff: Backoff = { firstMs: 100, factor: 2, maxMs: 10_000 };

/** Signals within this time, in ms, count as one: a parent may repeat the terminal's signal. */
const sameSignalMs = 100;
