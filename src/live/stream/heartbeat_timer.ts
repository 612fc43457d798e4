import { randomDelayBetween, type Runtime } from "../../runtime/runtime.ts";

/**
 * Sends each open stream a heartbeat about every 15 seconds. It visits the streams in small parts,
 * which avoids bursts of thousands of writes. All streams share one timer.
 */
export class HeartbeatTimer<T> {
  readonly #runtime: Pick<Runtime, "clock" | "random">;
  readonly #visit: (members: ReadonlySet<T>) => void;
  readonly #slots: readonly Set<T>[] = Array.from({ length: slotCount }, () => new Set<T>());
  #next = 0;
  #turn = 0;
  #size = 0;
  #cancel: (() => void) | null = null;

  constructor(
    runtime: Pick<Runtime, "clock" | "random">,
    visit: (members: ReadonlySet<T>) => void,
  ) {
    this.#runtime = runtime;
    this.#visit = visit;
  }

  /** Adds a member. Returns its slot, which {@link remove} needs. */
  add(member: T): number {
    // Assigns slots in rotation, so that all slots have about the same number of members.
    const slot = this.#next++ % slotCount;
    this.#slots[slot]?.add(member);
    this.#size++;
    if (this.#cancel === null) this.#wait();
    return slot;
  }

  remove(member: T, slot: number): void {
    if (this.#slots[slot]?.delete(member) !== true) return;
    this.#size--;
    if (this.#size === 0) this.stop();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #wait(): void {
    const delayMs = randomDelayBetween(this.#runtime, 0.8 * roundMs, 1.2 * roundMs) / slotCount;
    this.#cancel = this.#runtime.clock.after(delayMs, () => {
      this.#wait();
      const slot = this.#slots[this.#turn++ % slotCount];
      if (slot !== undefined && slot.size > 0) this.#visit(slot);
    });
  }
}

const roundMs = 15_000;
const slotCount = 15;
