import type { Position } from "../../db/changes/change_log.ts";
import { soon } from "../../runtime/system_runtime.ts";
import type { LiveSubscriber } from "./group_listener.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";

/** What the members of a group are sent, shared by all of them; null where it is nothing. */
export type ChunkFor = (group: SubscriberGroup) => Uint8Array | null;

/** What is delivered to whom. */
export interface Delivery {
  readonly chunkFor: ChunkFor;
  /** Those who have been told otherwise already. */
  readonly alreadyServed: ReadonlySet<LiveSubscriber>;
}

/**
 * Hands a step to its readers: to a few at once, to many in slices. What a reader is handed is
 * written to its socket before anything else happens, so that thousands of them would keep the
 * answer to the writer, and all other requests, waiting for as long as all those writes take.
 */
export class FanOut {
  #isUnderway = false;

  /** Whether some have been handed a step of which others are still to hear. */
  get isUnderway(): boolean {
    return this.#isUnderway;
  }

  /**
   * Delivers to the members of groups; chunks are made as they are needed. A promise only where
   * there are many members: the next step must not begin before it is resolved.
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
        if (!alreadyServed.has(subscriber)) subscriber.deliver(chunk, to);
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
      // The first slice waits, too: the answer to the writer goes before it.
      let left = 0;
      for (const group of groups) {
        const chunk = chunkFor(group);
        if (chunk === null) continue;
        for (const subscriber of group.liveSubscribers) {
          if (alreadyServed.has(subscriber)) continue;
          if (left-- === 0) {
            await new Promise<void>(soon);
            left = maxAtOnce - 1;
          }
          subscriber.deliver(chunk, to);
        }
      }
    } finally {
      this.#isUnderway = false;
    }
  }
}

/** So few take two or three milliseconds, the writes to their sockets among them. */
const maxAtOnce = 100;
