import type { Position } from "../../db/changes/log_position.ts";
import { afterPendingIo } from "../../runtime/event_loop.ts";
import type { LiveSubscriber } from "./group_listener.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";

/** The bytes of a group's events; null if there are none. */
export type Chunk = Uint8Array | "too-large" | null;

/** Returns the bytes to fan out to the live subscribers of a group. */
export type ChunkFor = (group: SubscriberGroup) => Chunk;

/** What is fanned out: the bytes for each group, and the subscribers to leave out. */
export interface Delivery {
  readonly chunkFor: ChunkFor;
  /** The subscribers that have received other bytes for the same step. */
  readonly alreadyServed: ReadonlySet<LiveSubscriber>;
}

/**
 * Fans one step out to all subscribers: writes its bytes to a few of them at once, to many in
 * slices. Bytes are written to a subscriber's socket before anything else happens, so that
 * thousands of writes in a row would delay the answer to the writer, and all other requests.
 */
export class FanOut {
  #isUnderway = false;

  /** True if some subscribers have received a step that others are still to receive. */
  get isUnderway(): boolean {
    return this.#isUnderway;
  }

  /**
   * Delivers to the live subscribers of groups; chunks are made as they are needed. Returns a
   * promise only where there are many: the next step must not begin before it is resolved.
   */
  deliver(
    groups: readonly SubscriberGroup[],
    to: Position | null,
    delivery: Delivery,
  ): MaybePromise<void> {
    const { chunkFor, alreadyServed } = delivery;
    const count = groups.reduce((sum, { liveSubscribers: members }) => sum + members.size, 0);
    if (count > maxAtOnce) return this.#deliverInSlices(groups, to, delivery);
    for (const group of groups) {
      const chunk = chunkFor(group);
      if (chunk === null) continue;
      for (const subscriber of group.liveSubscribers) {
        if (!alreadyServed.has(subscriber)) deliver(chunk, subscriber, to);
      }
    }
  }

  async #deliverInSlices(
    groups: readonly SubscriberGroup[],
    to: Position | null,
    { chunkFor, alreadyServed }: Delivery,
  ): Promise<void> {
    this.#isUnderway = true;
    try {
      // The first slice waits as well: the answer to the writer goes first.
      let left = 0;
      for (const group of groups) {
        const chunk = chunkFor(group);
        if (chunk === null) continue;
        for (const subscriber of group.liveSubscribers) {
          if (alreadyServed.has(subscriber)) continue;
          if (left-- === 0) {
            await new Promise<void>(afterPendingIo);
            left = maxAtOnce - 1;
          }
          deliver(chunk, subscriber, to);
        }
      }
    } finally {
      this.#isUnderway = false;
    }
  }
}

function deliver(
  chunk: Exclude<Chunk, null>,
  subscriber: LiveSubscriber,
  to: Position | null,
): void {
  if (chunk === "too-large") subscriber.lag();
  else subscriber.deliver(chunk, to);
}

/** So many take two or three milliseconds, including the writes to their sockets. */
const maxAtOnce = 100;
