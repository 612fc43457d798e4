import type { Runtime } from "../../runtime/runtime.ts";
import { jitteredBetween } from "../../runtime/jitter.ts";

/**
 * Visits each of its members about every fifteen seconds, a part of them at a time: one timer for
 * all, and no burst of thousands.
 */
export class HeartbeatTimer<T> {
  readonly #runtime: Pick<Runtime, "clock" | "random">;
  readonly #visit: (members: ReadonlySet<T>) => void;
  readonly #slots: readonly Set<T>[] = Array.from({ length: slotCount }, () => new Set<T>());
  #next = 0;
  #turn = 0;
  #size = 0;
  #cancel: (() => void) | null = null;

  /** `visit` is given those whose turn it is. */
  constructor(
    runtime: Pick<Runtime, "clock" | "random">,
    checkSessions: (members: ReadonlySet<T>) => void,
  ) {
    this.#runtime = runtime;
    this.#visit = checkSessions;
  }

  /** Visits a member from now on; the answer is the slot to remove it from. */
  add(member: T): number {
    // The one that was visited last is the one whose next visit is furthest away.
    const slot = this.#next++ % slotCount;
    this.#slots[slot]?.add(member);
    this.#size++;
    if (this.#cancel === null) this.#wait();
    return slot;
  }

  /** Visits a member no more. */
  remove(member: T, slot: number): void {
    if (this.#slots[slot]?.delete(member) !== true) return;
    this.#size--;
    if (this.#size === 0) this.stop();
  }

  /** Visits nobody until somebody is added. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #wait(): void {
    const delayMs = jitteredBetween(this.#runtime, 0.8 * roundMs, 1.2 * roundMs) / slotCount;
    this.#cancel = this.#runtime.clock.after(delayMs, () => {
      this.#wait();
      const slot = this.#slots[this.#turn++ % slotCount];
      if (slot !== undefined && slot.size > 0) this.#visit(slot);
    });
  }
}

const roundMs = 15_000;
const slotCount = 15;
