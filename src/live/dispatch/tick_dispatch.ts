import type { Change, ChangeLog, Position } from "../../db/changes/change_log.ts";
import { positionOrdinal } from "../../db/changes/log_position.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { Matcher } from "../match/matcher.ts";
import type { FanOut } from "./fan_out.ts";
import type { Tick } from "../feed/change_feed.ts";
import { EventRenderer } from "./event_renderer.ts";
import { type InvalidationReason, toBytes, tokenText } from "./server_sent_events.ts";
import type { Member, SubscriberGroup } from "./subscriber_group.ts";
import type { GroupEvents } from "./rows_of_group.ts";
import type { ResumeTokens } from "../stream/resume_token.ts";
import { type MaybePromise, then } from "../../runtime/maybe_promise.ts";
import { DeferredEvaluations } from "../match/deferred_evaluations.ts";
import {
  netRowChanges,
  type RowChange,
  type Transition,
  transitionKind,
  unchangedRow,
} from "../match/row_change.ts";
import { RelatedDispatch } from "./related_dispatch.ts";
import type { IncludeGroup } from "./include_group.ts";
import { AffectedParents } from "../match/affected_parents.ts";

/** What the way of a tick takes. */
export interface TickDispatchOptions {
  readonly matcher: Matcher;
  readonly log: ChangeLog;
  readonly resumeTokens: ResumeTokens;
  /** Holds a decision of memory against the database, in its own time. */
  check(group: SubscriberGroup, rowChange: RowChange): void;
}

/** One tick on its way: first what it is to whom, then the frames, then the deliveries. */
export class TickDispatch {
  readonly #options: TickDispatchOptions;
  readonly #tick: Tick;
  readonly #events = new Map<SubscriberGroup, (Transition | null)[]>();
  readonly #questions = new Map<TableInfo, DeferredEvaluations>();
  readonly #invalid = new Map<SubscriberGroup, InvalidationReason>();
  /** What passed by the groups that show related rows. */
  readonly #whole = new Map<SubscriberGroup, RowChange[]>();
  readonly #affectedParents = new AffectedParents<IncludeGroup>();
  #related: RelatedDispatch | null = null;
  /** What is told to some members otherwise than to their groups. */
  #apart: Map<SubscriberGroup, GroupEvents["apart"]> | null = null;
  readonly #fanOut: FanOut;

  constructor(options: TickDispatchOptions, tick: Tick, fanOut: FanOut) {
    this.#options = options;
    this.#tick = tick;
    this.#fanOut = fanOut;
  }

  get #relatedDispatch(): RelatedDispatch {
    return this.#related ??= new RelatedDispatch(this.#options, this.#tick);
  }

  invalidate(group: SubscriberGroup, reason: InvalidationReason): void {
    if (!this.#invalid.has(group)) this.#invalid.set(group, reason);
  }

  /** A row passes by a group. */
  meet(group: SubscriberGroup, rowChange: RowChange): void {
    if (group.rows !== null) {
      if (this.#options.matcher.isToBeChecked()) this.#options.check(group, rowChange);
      if (!this.#relatedDispatch.meet(group, rowChange)) {
        this.invalidate(group, "relation_overflow");
      }
    } else if (group.includeGroup === null) this.#evaluate(group, rowChange);
    // What a step does is told once, with what is shown under a row when it is over.
    else if (this.#tick.to === null) {
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
  reach(group: SubscriberGroup, change: Change): void {
    if (group.isFollowed && !this.#relatedDispatch.reach(group, change)) {
      this.invalidate(group, "relation_overflow");
    }
  }

  /** Something has changed that is shown under rows. */
  touch(includeGroup: IncludeGroup, change: Change): void {
    if (change.kind === "truncate" || change.kind === "touch") return this.#overflow(includeGroup);
    this.#affectedParents.add(change, includeGroup);
  }

  /** Tells everybody. Waits only where the database must decide, or related rows are loaded. */
  finish(): MaybePromise<void> {
    return then(this.#evaluateReached(), () => {
      for (const [group, rowChanges] of this.#whole) {
        for (const rowChange of netRowChanges(rowChanges, group.interest.table)) {
          this.#evaluate(group, rowChange);
        }
      }
      if (this.#questions.size === 0) return this.#show();
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
    const { to } = this.#tick;
    if (to !== null) return this.#findAffected(to);
    for (const includeGroup of this.#affectedParents.seekers) this.#overflow(includeGroup);
  }

  async #findAffected(to: Position): Promise<void> {
    try {
      const { rows, overflowing } = await this.#affectedParents.find(
        this.#options.log,
        this.#tick.changes,
        to,
      );
      for (const includeGroup of overflowing) this.#overflow(includeGroup);
      for (const { row, seekers } of rows) {
        const rowChange = unchangedRow(row, positionOrdinal(to));
        for (const { index } of seekers) {
          index.visit(rowChange, (group) => {
            if (group.isFollowed) this.meet(group, rowChange);
          });
        }
      }
    } catch (error) {
      this.#fail([...this.#affectedParents.seekers].flatMap(({ groups }) => [...groups]), error);
    }
  }

  #evaluateRelated(): MaybePromise<void> {
    const { to } = this.#tick;
    const related = this.#related;
    if (to === null || related === null) return;
    return this.#placeRelated(related, to).catch((error) => this.#fail(related.groups, error));
  }

  async #placeRelated(related: RelatedDispatch, to: Position): Promise<void> {
    for (const [group, sent] of await related.evaluate(to)) {
      if (sent === null) this.invalidate(group, "relation_overflow");
      else {
        this.#events.set(group, [...sent.events]);
        if (sent.apart.size > 0) (this.#apart ??= new Map()).set(group, sent.apart);
      }
    }
  }

  #evaluate(group: SubscriberGroup, rowChange: RowChange): void {
    const before = rowChange.before === null ? false : group.decide(rowChange.before);
    const after = answerAfter(group, rowChange, before);
    if (this.#options.matcher.isToBeChecked()) this.#options.check(group, rowChange);
    if (before === null || after === null) {
      const { table } = group.interest;
      const questions = this.#questions.get(table) ?? new DeferredEvaluations(table);
      this.#questions.set(table, questions);
      questions.add({ group, rowChange, place: this.#appendEvent(group, null) });
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
    for (const questions of this.#questions.values()) {
      try {
        for (
          const { group, rowChange, place, kind } of await questions.evaluateInDatabase(
            this.#options.matcher,
          )
        ) {
          const events = this.#events.get(group);
          if (kind !== null && events !== undefined) events[place] = { kind, rowChange };
        }
      } catch (error) {
        this.#fail(questions.groups, error);
      }
    }
  }

  /** Frames are made for views: groups of one view share them. */
  #show(): MaybePromise<void> {
    const makers = new Map<string, EventRenderer>();
    const { to } = this.#tick;
    for (const [group, events] of this.#events) {
      // Whoever watches is shown nothing.
      if (group.members.size === 0) continue;
      const { interest } = group;
      const key = makerKey(group);
      const seq = group.isSentByStep && to !== null ? positionOrdinal(to) : null;
      const maker = makers.get(key) ?? new EventRenderer(interest, seq);
      makers.set(key, maker);
      for (const event of events) if (event !== null) maker.want(event);
    }
    const prepared = [...makers.values()].map((maker) => maker.prepare());
    const waiting = prepared.filter((one) => one instanceof Promise);
    if (waiting.length === 0) return this.#deliver(makers);
    return this.#prepareAll(makers, prepared).then(() => this.#deliver(makers));
  }

  async #prepareAll(
    makers: ReadonlyMap<string, EventRenderer>,
    prepared: readonly MaybePromise<void>[],
  ): Promise<void> {
    const outcomes = await Promise.allSettled(prepared);
    [...makers].forEach(([key, { isTooMuch }], index) => {
      const outcome = outcomes[index];
      const groups = () => [...this.#events.keys()].filter((group) => makerKey(group) === key);
      if (outcome?.status === "rejected") this.#fail(groups(), outcome.reason);
      else if (isTooMuch) {
        for (const group of groups()) this.invalidate(group, "relation_overflow");
      }
    });
  }

  #deliver(makers: ReadonlyMap<string, EventRenderer>): MaybePromise<void> {
    const reached: SubscriberGroup[] = [];
    for (const [group, reason] of this.#invalid) {
      this.#events.delete(group);
      invalidate(group, reason);
    }
    for (const [group, events] of this.#events) {
      if (group.watchers.size > 0) {
        const happened = events.filter((event) => event !== null);
        for (const watcher of group.watchers) watcher.take(happened);
      }
      if (group.members.size > 0) reached.push(group);
    }
    if (reached.length === 0) return;
    const { to } = this.#tick;
    const position = to === null ? null : this.#options.log.print(to);
    const chunkFor = (group: SubscriberGroup) =>
      this.#chunk(group, this.#events.get(group) ?? [], { makers, position });
    const served = new Set<Member>();
    for (const [group, apart] of this.#apart ?? []) {
      for (const [member, own] of apart) {
        served.add(member);
        const chunk = own === null ? null : this.#chunk(group, own, { makers, position });
        if (own === null) member.invalidate("relation_overflow");
        else if (chunk !== null) member.deliver(chunk, to);
      }
    }
    return this.#fanOut.deliver(reached, to, { chunkFor, served });
  }

  /** What members of a group are sent; null where nothing has come of what concerned it. */
  #chunk(
    group: SubscriberGroup,
    events: readonly (Transition | null)[],
    { makers, position }: {
      readonly makers: ReadonlyMap<string, EventRenderer>;
      readonly position: string | null;
    },
  ): Uint8Array | null {
    const maker = makers.get(makerKey(group));
    const text = events.map((event) => event === null ? "" : maker?.text(event) ?? "").join("");
    if (text === "") return null;
    if (position === null) return toBytes(text);
    return toBytes(text + tokenText(this.#options.resumeTokens.token(position, group.resumeToken)));
  }

  #fail(groups: readonly SubscriberGroup[], error: unknown): void {
    for (const group of new Set(groups)) {
      this.#events.delete(group);
      for (const follower of group.followers()) follower.fail(error);
    }
  }
}

/** Rows are shown alike, and numbered alike. */
function makerKey({ viewKey, isSentByStep }: SubscriberGroup): string {
  return isSentByStep ? `step ${viewKey}` : viewKey;
}

/** Tells those who read live, or watch, that they must begin anew. */
export function invalidate(group: SubscriberGroup, reason: InvalidationReason): void {
  for (const follower of group.followers()) follower.invalidate(reason);
}

/** Most changes are of columns that most filters do not ask about: then the answer is the same. */
function answerAfter(
  { decide, reads }: SubscriberGroup,
  { before, after, changed }: RowChange,
  answerBefore: boolean | null,
): boolean | null {
  if (after === null) return false;
  return before !== null && (changed & reads) === 0 ? answerBefore : decide(after);
}
