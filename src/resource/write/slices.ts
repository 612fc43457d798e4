import { chunksOf } from "../../plan/key.ts";
import { createYieldTurn, type YieldTurn } from "../../runtime/event_loop.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { Resource } from "../model/resource.ts";
import { keysPerStatement } from "./read_rows_to_write.ts";

/** The intended duration of one statement, in milliseconds. */
const sliceMs = 5;
const maxGrowth = 4;

/** Divides the rows of a batch into statements. */
export interface Slices {
  /** Runs `work` for all items, one slice (the rows of one statement) after the other. */
  run<Item>(
    items: readonly Item[],
    work: (some: readonly Item[]) => Promise<void>,
  ): Promise<void>;
}

/**
 * Returns how to divide one batch into statements. An in-process database blocks every other
 * request during a statement. Therefore its first slice is one row, and the durations so far
 * determine how many rows of a later slice take 5 ms.
 */
export function slicesOf(resource: Resource): Slices {
  const { driver, runtime: { clock } } = resource;
  const maxSize = keysPerStatement(resource);
  return driver.dialect.blocksThread ? new TimedSlices(maxSize, clock) : {
    async run(items, work) {
      for (const some of chunksOf(items, maxSize)) await work(some);
    },
  };
}

/** Divides rows by the durations of previous slices. Other requests run between two slices. */
export class TimedSlices implements Slices {
  readonly #maxSize: number;
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #yieldTurn: YieldTurn;
  #size = 1;

  constructor(maxSize: number, clock: Clock) {
    this.#maxSize = maxSize;
    this.#clock = clock;
    this.#yieldTurn = createYieldTurn(clock);
  }

  async run<Item>(
    items: readonly Item[],
    work: (some: readonly Item[]) => Promise<void>,
  ): Promise<void> {
    for (let at = 0; at < items.length;) {
      await this.#yieldTurn();
      const some = items.slice(at, at + this.#size);
      const beganAt = this.#clock.elapsedMs();
      await work(some);
      at += some.length;
      const perItemMs = (this.#clock.elapsedMs() - beganAt) / some.length;
      const size = Math.min(this.#maxSize, this.#size * maxGrowth, sliceMs / perItemMs);
      this.#size = Math.max(1, Math.floor(size));
    }
  }
}
