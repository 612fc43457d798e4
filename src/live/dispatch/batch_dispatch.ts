import type { Change, ChangeLog, Position } from "../../db/changes/change_log.ts";
import { positionOrdinal } from "../../db/changes/log_position.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { Matcher } from "../match/matcher.ts";
import type { FanOut } from "./fan_out.ts";
import type { ChangeBatch } from "../feed/change_feed.ts";
import { EventRenderer } from "./event_renderer.ts";
import { type InvalidationReason, toBytes, tokenText } from "./server_sent_events.ts";
import type { LiveSubscriber, SubscriberGroup } from "./subscriber_group.ts";
import type { GroupEvents } from "./group_held_rows.ts";
import type { ResumeTokens } from "../stream/resume_token.ts";
import { type MaybePromise, then } from "../../runtime/maybe_promise.ts";
import { DeferredEvaluations } from "./deferred_evaluations.ts";
import {
  netRowChanges,
  type RowChange,
  type Transition,
  transitionKind,
  unchangedRow,
} from "../match/row_change.ts";
import { RelatedFilterDispatch } from "./related_filter_dispatch.ts";
import type { IncludeGroup } from "./include_group.ts";
import { AffectedParents } from "../match/affected_parents.ts";

/** What the way of a tick takes. */
export interface DispatchOptions {
  readonly matcher: Matcher;
  readonly log: ChangeLog;
  readonly resumeTokens: ResumeTokens;
  /** Holds a decision of memory against the database, in its own time. */
  check(group: SubscriberGroup, rowChange: RowChange): void;
}

/** One tick on its way: first what it is to whom, then the frames, then the deliveries. */
export class BatchDispatch {
  readonly #options: DispatchOptions;
  readonly #batch: ChangeBatch;
  readonly #events = new Map<SubscriberGroup, (Transition | null)[]>();
  readonly #deferred = new Map<TableInfo, DeferredEvaluations>();
  readonly #invalid = new Map<SubscriberGroup, InvalidationReason>();
  /** What passed by the groups that show related rows. */
  readonly #whole = new Map<SubscriberGroup, RowChange[]>();
  readonly #affectedParents = new AffectedParents<IncludeGroup>();
  #related: RelatedFilterDispatch | null = null;
  /** What is told to some members otherwise than to their groups. */
  #individual: Map<SubscriberGroup, GroupEvents["individual"]> | null = null;
  readonly #fanOut: FanOut;

  constructor(options: DispatchOptions, batch: ChangeBatch, fanOut: FanOut) {
    this.#options = options;
    this.#batch = batch;
    this.#fanOut = fanOut;
  }

  get #relatedDispatch(): RelatedFilterDispatch {
    return this.#related ??= new RelatedFilterDispatch(this.#options, this.#batch);
  }

  invalidate(group: SubscriberGroup, reason: InvalidationReason): void {
    if (!this.#invalid.has(group)) this.#invalid.set(group, reason);
  }

  /** A row passes by a group. */
  matchRow(group: SubscriberGroup, rowChange: RowChange): void {
    if (group.heldRows !== null) {
      if (this.#options.matcher.shouldCheck()) this.#options.check(group, rowChange);
      if (!this.#relatedDispatch.matchRow(group, rowChange)) {
        this.invalidate(group, "relation_overflow");
      }
    } else if (group.includeGroup === null) this.#evaluate(group, rowChange);
    // What a step does is told once, with what is shown under a row when it is over.
    else if (this.#batch.to === null) {
      const { before, after } = rowChange;
      const isSeen = [before, after].some((image) =>
        image !== null && group.decide(image) !== false
      );
      if (isSeen) this.invalidate(group, "relation_overflow");
    } else {
      const rowChanges = this.#whole.get(group);
      if (rowChanges === undefined) this.#whole.set(group, [rowChange]);
      else rowChanges.push(rowChange);
    }
  }

  /** A row has changed that decides about others. */
  matchRelated(group: SubscriberGroup, change: Change): void {
    if (group.hasListeners && !this.#relatedDispatch.matchRelated(group, change)) {
      this.invalidate(group, "relation_overflow");
    }
  }

  /** Something has changed that is shown under rows. */
  matchIncluded(includeGroup: IncludeGroup, change: Change): void {
    if (change.kind === "truncate" || change.kind === "touch") return this.#overflow(includeGroup);
    this.#affectedParents.add(change, includeGroup);
  }

  /** Tells everybody. Waits only where the database must decide, or related rows are loaded. */
  finish(): MaybePromise<void> {
    return then(this.#evaluateReached(), () => {
      for (const [group, rowChanges] of this.#whole) {
        for (const rowChange of netRowChanges(rowChanges, group.query.table)) {
          this.#evaluate(group, rowChange);
        }
      }
      if (this.#deferred.size === 0) return this.#show();
      return this.#evaluateInDatabase().then(() => this.#show());
    });
  }

  #overflow({ groups }: IncludeGroup): void {
    for (const group of groups) this.invalidate(group, "relation_overflow");
  }

  /** What follows from changes of other rows. */
  #evaluateReached(): MaybePromise<void> {
    if (this.#affectedParents.isEmpty && this.#related === null) return;
    return then(this.#matchAffected(), () => this.#evaluateRelated());
  }

  #matchAffected(): MaybePromise<void> {
    if (this.#affectedParents.isEmpty) return;
    const { to } = this.#batch;
    if (to !== null) return this.#findAffected(to);
    for (const includeGroup of this.#affectedParents.groups) this.#overflow(includeGroup);
  }

  async #findAffected(to: Position): Promise<void> {
    try {
      const { rows, overflowing } = await this.#affectedParents.find(
        this.#options.log,
        this.#batch.changes,
        to,
      );
      for (const includeGroup of overflowing) this.#overflow(includeGroup);
      for (const { row, groups } of rows) {
        const rowChange = unchangedRow(row, positionOrdinal(to));
        for (const { index } of groups) {
          index.visit(rowChange, (group) => {
            if (group.hasListeners) this.matchRow(group, rowChange);
          });
        }
      }
    } catch (error) {
      this.#fail([...this.#affectedParents.groups].flatMap(({ groups }) => [...groups]), error);
    }
  }

  #evaluateRelated(): MaybePromise<void> {
    const { to } = this.#batch;
    const related = this.#related;
    if (to === null || related === null) return;
    return this.#placeRelated(related, to).catch((error) => this.#fail(related.groups, error));
  }

  async #placeRelated(related: RelatedFilterDispatch, to: Position): Promise<void> {
    for (const [group, sent] of await related.evaluate(to)) {
      if (sent === null) this.invalidate(group, "relation_overflow");
      else {
        this.#events.set(group, [...sent.events]);
        if (sent.individual.size > 0) (this.#individual ??= new Map()).set(group, sent.individual);
      }
    }
  }

  #evaluate(group: SubscriberGroup, rowChange: RowChange): void {
    const before = rowChange.before === null ? false : group.decide(rowChange.before);
    const after = answerAfter(group, rowChange, before);
    if (this.#options.matcher.shouldCheck()) this.#options.check(group, rowChange);
    if (before === null || after === null) {
      const { table } = group.query;
      const deferred = this.#deferred.get(table) ?? new DeferredEvaluations(table);
      this.#deferred.set(table, deferred);
      deferred.add({ group, rowChange, place: this.#appendEvent(group, null) });
      return;
    }
    const kind = transitionKind(before, after);
    if (kind !== null) this.#appendEvent(group, { kind, rowChange });
  }

  #appendEvent(group: SubscriberGroup, event: Transition | null): number {
    const events = this.#events.get(group);
    if (events !== undefined) return events.push(event) - 1;
    this.#events.set(group, [event]);
    return 0;
  }

  async #evaluateInDatabase(): Promise<void> {
    for (const deferred of this.#deferred.values()) {
      try {
        for (
          const { group, rowChange, place, kind } of await deferred.evaluateInDatabase(
            this.#options.matcher,
          )
        ) {
          const events = this.#events.get(group);
          if (kind !== null && events !== undefined) events[place] = { kind, rowChange };
        }
      } catch (error) {
        this.#fail(deferred.groups, error);
      }
    }
  }

  /** Frames are made for views: groups of one view share them. */
  #show(): MaybePromise<void> {
    const renderers = new Map<string, EventRenderer>();
    const { to } = this.#batch;
    for (const [group, events] of this.#events) {
      // Whoever watches is shown nothing.
      if (group.liveSubscribers.size === 0) continue;
      const { query } = group;
      const key = rendererKey(group);
      const seq = group.isSentByStep && to !== null ? positionOrdinal(to) : null;
      const renderer = renderers.get(key) ?? new EventRenderer(query, seq);
      renderers.set(key, renderer);
      for (const event of events) if (event !== null) renderer.add(event);
    }
    const prepared = [...renderers.values()].map((renderer) => renderer.prepare());
    const waiting = prepared.filter((one) => one instanceof Promise);
    if (waiting.length === 0) return this.#deliver(renderers);
    return this.#prepareAll(renderers, prepared).then(() => this.#deliver(renderers));
  }

  async #prepareAll(
    renderers: ReadonlyMap<string, EventRenderer>,
    prepared: readonly MaybePromise<void>[],
  ): Promise<void> {
    const outcomes = await Promise.allSettled(prepared);
    [...renderers].forEach(([key, { isIncomplete: isTooMuch }], index) => {
      const outcome = outcomes[index];
      const groups = () => [...this.#events.keys()].filter((group) => rendererKey(group) === key);
      if (outcome?.status === "rejected") this.#fail(groups(), outcome.reason);
      else if (isTooMuch) {
        for (const group of groups()) this.invalidate(group, "relation_overflow");
      }
    });
  }

  #deliver(renderers: ReadonlyMap<string, EventRenderer>): MaybePromise<void> {
    const deliverable: SubscriberGroup[] = [];
    for (const [group, reason] of this.#invalid) {
      this.#events.delete(group);
      invalidate(group, reason);
    }
    for (const [group, events] of this.#events) {
      if (group.transitionListeners.size > 0) {
        const happened = events.filter((event) => event !== null);
        for (const watcher of group.transitionListeners) watcher.receive(happened);
      }
      if (group.liveSubscribers.size > 0) deliverable.push(group);
    }
    if (deliverable.length === 0) return;
    const { to } = this.#batch;
    const position = to === null ? null : this.#options.log.print(to);
    const chunkFor = (group: SubscriberGroup) =>
      this.#chunk(group, this.#events.get(group) ?? [], { renderers, position });
    const alreadyServed = new Set<LiveSubscriber>();
    for (const [group, individual] of this.#individual ?? []) {
      for (const [subscriber, own] of individual) {
        alreadyServed.add(subscriber);
        const chunk = own === null ? null : this.#chunk(group, own, { renderers, position });
        if (own === null) subscriber.invalidate("relation_overflow");
        else if (chunk !== null) subscriber.deliver(chunk, to);
      }
    }
    return this.#fanOut.deliver(deliverable, to, { chunkFor, alreadyServed });
  }

  /** What members of a group are sent; null where nothing has come of what concerned it. */
  #chunk(
    group: SubscriberGroup,
    events: readonly (Transition | null)[],
    { renderers, position }: {
      readonly renderers: ReadonlyMap<string, EventRenderer>;
      readonly position: string | null;
    },
  ): Uint8Array | null {
    const renderer = renderers.get(rendererKey(group));
    const text = events.map((event) => event === null ? "" : renderer?.text(event) ?? "").join("");
    if (text === "") return null;
    if (position === null) return toBytes(text);
    return toBytes(
      text + tokenText(this.#options.resumeTokens.create(position, group.queryDigest)),
    );
  }

  #fail(groups: readonly SubscriberGroup[], error: unknown): void {
    for (const group of new Set(groups)) {
      this.#events.delete(group);
      for (const follower of group.listeners()) follower.fail(error);
    }
  }
}

/** Rows are shown alike, and numbered alike. */
function rendererKey({ viewKey, isSentByStep }: SubscriberGroup): string {
  return isSentByStep ? `step ${viewKey}` : viewKey;
}

/** Tells those who read live, or watch, that they must begin anew. */
export function invalidate(group: SubscriberGroup, reason: InvalidationReason): void {
  for (const follower of group.listeners()) follower.invalidate(reason);
}

/** Most changes are of columns that most filters do not ask about: then the answer is the same. */
function answerAfter(
  { decide, columnsRead: reads }: SubscriberGroup,
  { before, after, changed }: RowChange,
  answerBefore: boolean | null,
): boolean | null {
  if (after === null) return false;
  return before !== null && (changed & reads) === 0 ? answerBefore : decide(after);
}
