import { chunksOf } from "../../plan/key.ts";
import { createYieldTurn } from "../../runtime/event_loop.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { Resource } from "../model/resource.ts";
import { keysPerStatement } from "./read_rows_to_write.ts";

/** The intended duration of one statement, in milliseconds. */
const sliceMs = 5;
const maxGrowth = 4;

/** Runs `work` for all items of a batch, one slice (the rows of one statement) after the other. */
export type RunInSlices = <Item>(
  items: readonly Item[],
  work: (some: readonly Item[]) => Promise<void>,
) => Promise<void>;

/**
 * Returns how to divide one batch into statements. An in-process database blocks every other
 * request during a statement. Therefore its first slice is one row, and the durations so far
 * determine how many rows of a later slice take 5 ms.
 */
export function slicesOf(resource: Resource): RunInSlices {
  const { driver, runtime: { clock } } = resource;
  const maxSize = keysPerStatement(resource);
  return driver.dialect.blocksThread ? timedSlices(maxSize, clock) : async (items, work) => {
    for (const some of chunksOf(items, maxSize)) await work(some);
  };
}

/** Divides rows by the durations of previous slices. Other requests run between two slices. */
export function timedSlices(maxSize: number, clock: Clock): RunInSlices {
  const yieldTurn = createYieldTurn(clock);
  let size = 1;
  return async (items, work) => {
    for (let at = 0; at < items.length;) {
      await yieldTurn();
      const some = items.slice(at, at + size);
      const beganAt = clock.elapsedMs();
      await work(some);
      at += some.length;
      const perItemMs = (clock.elapsedMs() - beganAt) / some.length;
      const next = Math.min(maxSize, size * maxGrowth, sliceMs / perItemMs);
      size = Math.max(1, Math.floor(next));
    }
  };
}
