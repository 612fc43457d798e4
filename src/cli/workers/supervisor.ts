import { type Backoff, waitBackoff } from "../../runtime/backoff.ts";
import { Semaphore } from "../../runtime/queues/semaphore.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { reportFailure } from "../report_failure.ts";
import type { StopSignal } from "../stop_signals.ts";
import type { WorkerGroup } from "./worker_group.ts";
import { type WorkerEnd, WorkerEnded, type WorkerProcess } from "./worker_process.ts";

/** The place of one worker, whichever process has it. */
interface Slot {
  readonly number: number;
  worker: WorkerProcess;
  /** When it began to serve. */
  since: number;
  /** Resolves once the replacement that starts has the place, or has failed. */
  replacing: Promise<unknown> | null;
}

/** Keeps so many workers of a group running, and replaces them on demand. */
export class Supervisor {
  readonly #group: WorkerGroup;
  readonly #runtime: Runtime;
  readonly #slots: Slot[] = [];
  /** One round of replacements at a time; one more waits, for what has changed since. */
  readonly #rounds = new Semaphore(1, 1);
  readonly #gaveUp = Promise.withResolvers<number>();
  /** How many have ended in a row soon after they had started. */
  #quickEnds = 0;
  #stoppedAt: number | null = null;

  constructor(group: WorkerGroup, runtime: Runtime) {
    this.#group = group;
    this.#runtime = runtime;
  }

  /**
   * Starts the workers, prints the banner, and resolves with the exit code when they have been
   * stopped, or cannot be kept running.
   */
  async run(count: number): Promise<number> {
    try {
      // The first one alone: what keeps it from starting is printed once.
      const first = await this.#open(1);
      await Promise.all(Array.from({ length: count - 1 }, (_, index) => this.#open(index + 2)));
      console.log((await first.worker.listening).banner);
    } catch (error) {
      if (this.#group.isStopping) return 0;
      return error instanceof WorkerEnded ? error.end.exitCode : reportFailure(error, 1);
    }
    const stopped = Promise.all(this.#slots.map((slot) => this.#keep(slot)));
    return await Promise.race([this.#gaveUp.promise, stopped.then(() => 0)]);
  }

  /** Replaces every worker, one after the other, as far as the new ones start. */
  replaceAll(): void {
    if (this.#rounds.isFull) return;
    void this.#rounds.run(async () => {
      for (const slot of this.#slots) {
        if (this.#group.isStopping || !await this.#replace(slot)) return;
      }
    });
  }

  /** Stops by a signal, which the workers may have received as well; by a second one, at once. */
  stop(signal: StopSignal, reachedWorkers: boolean): void {
    const now = this.#runtime.clock.elapsedMs();
    if (this.#stoppedAt === null) {
      this.#stoppedAt = now;
      void this.#group.stop(reachedWorkers ? null : signal);
    } else if (now - this.#stoppedAt > sameSignalMs) this.#group.kill();
  }

  async #open(number: number): Promise<Slot> {
    const worker = await this.#group.start(number);
    const slot = { number, worker, since: this.#runtime.clock.elapsedMs(), replacing: null };
    this.#slots.push(slot);
    return slot;
  }

  /** Resolves once the worker of this place has ended because all stop. */
  async #keep(slot: Slot): Promise<void> {
    while (!this.#group.isStopping) {
      const { worker, since } = slot;
      const end = await worker.ended;
      await slot.replacing;
      if (slot.worker !== worker || this.#group.isStopping) continue;
      const isQuick = this.#runtime.clock.elapsedMs() - since < quickMs;
      this.#quickEnds = isQuick ? this.#quickEnds + 1 : 0;
      await this.#restart(slot, end);
    }
  }

  async #restart(slot: Slot, end: WorkerEnd): Promise<void> {
    const { pid, reason } = end;
    this.#runtime.observe({ kind: "worker_ended", worker: slot.number, pid, reason });
    if (this.#quickEnds >= maxQuickEnds && this.#slots.every(({ worker }) => worker.hasEnded())) {
      console.error(`Cannot keep the workers running: ${maxQuickEnds} in a row ended at once`);
      return this.#gaveUp.resolve(end.exitCode);
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

  /** Whether there is no old worker in this place any more: one that has ended is replaced anyway. */
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

  #take(slot: Slot, worker: WorkerProcess): void {
    slot.worker = worker;
    slot.since = this.#runtime.clock.elapsedMs();
  }
}

/** A worker that has served for less has ended at once. */
const quickMs = 10_000;

/** So many of them in a row will not be followed by a better one. */
const maxQuickEnds = 5;

const backoff: Backoff = { firstMs: 100, factor: 2, maxMs: 10_000 };

/** One signal often arrives twice: sent to the process group, and passed on by a parent. */
const sameSignalMs = 100;
