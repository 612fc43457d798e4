import {
  logPositionOrdinal,
  type Position,
  printLogPosition,
} from "../../db/changes/log_position.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { ResumeTokens } from "../stream/resume_token.ts";
import type { GroupEvents, LiveSubscriber } from "./group_listener.ts";
import { type InvalidationReason, resumeTokenText, toBytes } from "./server_sent_events.ts";
import { sharedIdentity } from "../match/matcher.ts";
import { EventRenderer, type SubscriberGroup } from "./subscriber_group.ts";
import type { Transition } from "../match/row_change.ts";
import { runAfterPendingIo } from "../../runtime/runtime.ts";

export type GroupBytes = Uint8Array | "too-large" | null;

export type BytesForGroup = (group: SubscriberGroup) => GroupBytes;

export interface Delivery {
  readonly chunkFor: BytesForGroup;
  readonly alreadyServed: ReadonlySet<LiveSubscriber>;
}

/** Sends events to many subscribers in slices, because one long loop would delay other requests. */
export class FanOut {
  #isUnderway = false;

  /** True while a delivery has reached only some of the subscribers. */
  get isUnderway(): boolean {
    return this.#isUnderway;
  }

  /** Sends each group's bytes. The caller must await the result before the next delivery. */
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
      // Waits for pending I/O before each slice, so that the writing client gets its reply first.
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

/** The number of subscribers served before other requests run. Writing to them takes 2–3 ms. */
const maxAtOnce = 100;

/** The events of a batch for one group, in order. Null: not evaluated yet, or there is no event. */
export type GroupTransitions = readonly (Transition | null)[];

export class BatchEvents {
  readonly #transitions = new Map<SubscriberGroup, (Transition | null)[]>();
  readonly #invalidations = new Map<SubscriberGroup, InvalidationReason>();
  #individual: Map<SubscriberGroup, GroupEvents["individual"]> | null = null;

  get transitions(): ReadonlyMap<SubscriberGroup, GroupTransitions> {
    return this.#transitions;
  }

  get individual(): Iterable<readonly [SubscriberGroup, GroupEvents["individual"]]> {
    return this.#individual ?? [];
  }

  /** Appends a transition; null keeps its place until {@link fill} sets it. Returns the index. */
  append(group: SubscriberGroup, transition: Transition | null): number {
    const transitions = this.#transitions.get(group);
    if (transitions !== undefined) return transitions.push(transition) - 1;
    this.#transitions.set(group, [transition]);
    return 0;
  }

  fill(group: SubscriberGroup, place: number, transition: Transition): void {
    const transitions = this.#transitions.get(group);
    if (transitions !== undefined) transitions[place] = transition;
  }

  set(group: SubscriberGroup, { events, individual }: GroupEvents): void {
    this.#transitions.set(group, [...events]);
    if (individual.size > 0) (this.#individual ??= new Map()).set(group, individual);
  }

  invalidate(group: SubscriberGroup, reason: InvalidationReason): void {
    if (!this.#invalidations.has(group)) this.#invalidations.set(group, reason);
  }

  fail(groups: readonly SubscriberGroup[], error: unknown): void {
    for (const group of new Set(groups)) {
      this.#transitions.delete(group);
      for (const listener of group.listeners()) listener.fail(error);
    }
  }

  sendInvalidations(): void {
    for (const [group, reason] of this.#invalidations) {
      this.#transitions.delete(group);
      group.invalidate(reason);
    }
  }
}

export interface BatchDeliveryOptions {
  readonly resumeTokens: ResumeTokens;
  readonly fanOut: FanOut;
  readonly maxEventBytes: number;
  /** The log position after the batch; null if more batches of the same read of the log follow. */
  readonly to: Position | null;
}

export class BatchDelivery {
  readonly #events: BatchEvents;
  readonly #options: BatchDeliveryOptions;
  readonly #renderers = new Map<string, EventRenderer>();
  #position: string | null = null;

  constructor(events: BatchEvents, options: BatchDeliveryOptions) {
    this.#events = events;
    this.#options = options;
  }

  deliver(): MaybePromise<void> {
    this.#addToRenderers();
    const prepared = [...this.#renderers.values()].map((renderer) =>
      renderer.prepare(sharedIdentity)
    );
    const waiting = prepared.filter((one) => one instanceof Promise);
    if (waiting.length === 0) return this.#send();
    return this.#prepareAll(prepared).then(() => this.#send());
  }

  #addToRenderers(): void {
    const { to } = this.#options;
    for (const [group, transitions] of this.#events.transitions) {
      // Only streams need the text of events. Transition listeners receive the transitions.
      if (group.liveSubscribers.size === 0) continue;
      const key = rendererKey(group);
      const seq = group.isSentByStep && to !== null ? logPositionOrdinal(to) : null;
      const renderer = this.#renderers.get(key) ?? new EventRenderer(group.query, seq);
      this.#renderers.set(key, renderer);
      for (const transition of transitions) if (transition !== null) renderer.add(transition);
    }
  }

  async #prepareAll(prepared: readonly MaybePromise<void>[]): Promise<void> {
    const outcomes = await Promise.allSettled(prepared);
    [...this.#renderers].forEach(([key, { isIncomplete }], index) => {
      const outcome = outcomes[index];
      if (outcome?.status === "rejected") this.#events.fail(this.#groupsOf(key), outcome.reason);
      else if (isIncomplete) {
        for (const group of this.#groupsOf(key)) {
          this.#events.invalidate(group, "relation_overflow");
        }
      }
    });
  }

  #groupsOf(key: string): readonly SubscriberGroup[] {
    return [...this.#events.transitions.keys()].filter((group) => rendererKey(group) === key);
  }

  #send(): MaybePromise<void> {
    this.#events.sendInvalidations();
    const groups: SubscriberGroup[] = [];
    for (const [group, transitions] of this.#events.transitions) {
      // If the filter reads related rows (`heldRows`), these listeners were already informed.
      if (group.transitionListeners.size > 0 && group.heldRows === null) {
        const known = transitions.filter((transition) => transition !== null);
        const { to } = this.#options;
        for (const listener of group.transitionListeners) listener.receive(known, to);
      }
      if (group.liveSubscribers.size > 0) groups.push(group);
    }
    if (groups.length === 0) return;
    const { fanOut, to } = this.#options;
    this.#position = to === null ? null : printLogPosition(to);
    const alreadyServed = this.#sendIndividual();
    const chunkFor = (group: SubscriberGroup) => {
      try {
        return this.#chunk(group, this.#events.transitions.get(group) ?? []);
      } catch (error) {
        this.#events.fail([group], error);
        return null;
      }
    };
    return fanOut.deliver(groups, to, { chunkFor, alreadyServed });
  }

  #sendIndividual(): ReadonlySet<LiveSubscriber> {
    const served = new Set<LiveSubscriber>();
    for (const [group, individual] of this.#events.individual) {
      for (const [subscriber, transitions] of individual) {
        served.add(subscriber);
        try {
          const chunk = transitions === null ? "too-large" : this.#chunk(group, transitions);
          if (chunk === "too-large") subscriber.invalidate("relation_overflow");
          else if (chunk !== null) subscriber.deliver(chunk, this.#options.to);
        } catch (error) {
          subscriber.fail(error);
        }
      }
    }
    return served;
  }

  #chunk(group: SubscriberGroup, transitions: GroupTransitions): GroupBytes {
    const renderer = this.#renderers.get(rendererKey(group));
    let text = "";
    for (const transition of transitions) {
      if (transition === null || renderer === undefined) continue;
      const hasMore = text !== "";
      text += renderer.text(transition);
      // A slow client's stream keeps these events in memory, so their size is limited.
      if (hasMore && text.length > this.#options.maxEventBytes) return "too-large";
    }
    if (text === "") return null;
    if (this.#position === null) return toBytes(text);
    const token = this.#options.resumeTokens.create(this.#position, group.queryDigest);
    return toBytes(text + resumeTokenText(token));
  }
}

/** Groups with an equal key send equal events: rows in the same form, with or without `seq`. */
function rendererKey({ viewKey, isSentByStep }: SubscriberGroup): string {
  return isSentByStep ? `step ${viewKey}` : viewKey;
}
