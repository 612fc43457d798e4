import type { Position } from "../../db/changes/log_position.ts";
import { runAfterPendingIo } from "../../runtime/event_loop.ts";
import type { LiveSubscriber } from "./group_listener.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";

/** The bytes of a group's events; null if the group has no events. */
export type GroupBytes = Uint8Array | "too-large" | null;

export type BytesForGroup = (group: SubscriberGroup) => GroupBytes;

export interface Delivery {
  readonly chunkFor: BytesForGroup;
  /** The subscribers that have already received their own events of the same step. */
  readonly alreadyServed: ReadonlySet<LiveSubscriber>;
}

/**
 * Sends the bytes of one step to all subscribers. Few subscribers receive the bytes immediately,
 * many receive them in slices. Each write to a socket is synchronous, so thousands of consecutive
 * writes would delay the response to the writer and all other requests.
 */
export class FanOut {
  #isUnderway = false;

  /** True while only some subscribers have received the events of the current step of the log. */
  get isUnderway(): boolean {
    return this.#isUnderway;
  }

  /**
   * Sends each group's bytes to its live subscribers. Returns a promise only if there are many
   * subscribers. The next step must not start before the promise resolves.
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
      // The first slice also waits, so that the client whose write caused the events is first.
      let left = 0;
      for (const group of groups) {
        const chunk = chunkFor(group);
        if (chunk === null) continue;
        for (const subscriber of group.liveSubscribers) {
          if (alreadyServed.has(subscriber)) continue;
          if (left-- === 0) {
            await new Promise<void>(runAfterPendingIo);
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
  chunk: Exclude<GroupBytes, null>,
  subscriber: LiveSubscriber,
  to: Position | null,
): void {
  if (chunk === "too-large") subscriber.lag();
  else subscriber.deliver(chunk, to);
}

/** The number of subscribers in a slice. Writing to all their sockets takes 2–3 ms. */
const maxAtOnce = 100;
