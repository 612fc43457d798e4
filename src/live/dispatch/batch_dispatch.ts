import type { Change, ChangeLog } from "../../db/changes/change_log.ts";
import { logPositionOrdinal, type Position } from "../../db/changes/log_position.ts";
import { chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { ChangeBatch } from "../feed/change_feed.ts";
import { AffectedParents } from "../match/affected_parents.ts";
import { type Matcher, sharedIdentity } from "../match/matcher.ts";
import {
  netRowChanges,
  type RowChange,
  transitionKind,
  unchangedRow,
} from "../match/row_change.ts";
import type { ResumeTokens } from "../stream/resume_token.ts";
import { BatchDelivery, BatchEvents, type FanOut } from "./batch_delivery.ts";
import {
  DeferredEvaluations,
  type DeferredStatement,
  maxStepsOfPart,
} from "./deferred_evaluations.ts";
import { RelatedFilterDispatch } from "./related_filter_dispatch.ts";
import type { InvalidationReason } from "./server_sent_events.ts";
import type { IncludeGroup, SubscriberGroup } from "./subscriber_group.ts";

export interface DispatchOptions {
  readonly matcher: Matcher;
  readonly log: ChangeLog;
  readonly resumeTokens: ResumeTokens;
  readonly maxEventBytes: number;
  /** Evaluates a row change again in the database, to check the evaluation in memory. */
  check(group: SubscriberGroup, rowChange: RowChange): void;
}

export class BatchDispatch {
  readonly #options: DispatchOptions;
  readonly #batch: ChangeBatch;
  readonly #fanOut: FanOut;
  readonly #events = new BatchEvents();
  readonly #deferred = new Map<TableInfo, DeferredEvaluations>();
  readonly #rowChanges = new Map<SubscriberGroup, RowChange[]>();
  readonly #affectedParents = new AffectedParents<IncludeGroup>(sharedIdentity);
  #relatedFilters: RelatedFilterDispatch | null = null;

  constructor(options: DispatchOptions, batch: ChangeBatch, fanOut: FanOut) {
    this.#options = options;
    this.#batch = batch;
    this.#fanOut = fanOut;
  }

  invalidate(group: SubscriberGroup, reason: InvalidationReason): void {
    this.#events.invalidate(group, reason);
  }

  /** Runs `work`. If it throws, only the streams of these groups end. */
  isolate(groups: Iterable<SubscriberGroup>, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#events.fail([...groups], error);
    }
  }

  matchRow(group: SubscriberGroup, rowChange: RowChange): void {
    this.isolate([group], () => this.#matchRow(group, rowChange));
  }

  #matchRow(group: SubscriberGroup, rowChange: RowChange): void {
    if (group.heldRows !== null) {
      this.#checkSometimes(group, rowChange);
      if (!this.#relatedFilterDispatch.matchRow(group, rowChange)) {
        this.invalidate(group, "relation_overflow");
      }
    } else if (group.includeGroup === null) this.#evaluate(group, rowChange);
    else if (this.#batch.to === null) this.#refusePart(group, rowChange);
    else {
      const rowChanges = this.#rowChanges.get(group);
      if (rowChanges === undefined) this.#rowChanges.set(group, [rowChange]);
      else rowChanges.push(rowChange);
    }
  }

  matchRelated(group: SubscriberGroup, change: Change): void {
    if (!group.hasListeners) return;
    this.isolate([group], () => {
      if (this.#relatedFilterDispatch.matchRelated(group, change)) return;
      this.invalidate(group, "relation_overflow");
    });
  }

  matchIncluded(includeGroup: IncludeGroup, change: Change): void {
    if (change.kind === "truncate" || change.kind === "touch") return this.#overflow(includeGroup);
    this.isolate(includeGroup.groups, () => this.#affectedParents.add(change, includeGroup));
  }

  finish(): MaybePromise<void> {
    return chain(this.#followRelations(), () => {
      for (const [group, rowChanges] of this.#rowChanges) {
        this.isolate([group], () => {
          for (const rowChange of netRowChanges(rowChanges, group.query.table)) {
            this.#evaluate(group, rowChange);
          }
        });
      }
      if (this.#deferred.size === 0) return this.#deliver();
      return this.#evaluateInDatabase().then(() => this.#deliver());
    });
  }

  get #relatedFilterDispatch(): RelatedFilterDispatch {
    return this.#relatedFilters ??= new RelatedFilterDispatch(
      this.#options,
      this.#batch,
      (group, work) => this.isolate([group], work),
    );
  }

  /** Makes clients that may have the row start over: its event needs the whole read of the log. */
  #refusePart(group: SubscriberGroup, { before, after }: RowChange): void {
    const isShown = [before, after].some((image) =>
      image !== null && group.decide(image) !== false
    );
    if (isShown) this.invalidate(group, "relation_overflow");
  }

  #overflow({ groups }: IncludeGroup): void {
    for (const group of groups) this.invalidate(group, "relation_overflow");
  }

  #followRelations(): MaybePromise<void> {
    if (this.#affectedParents.isEmpty && this.#relatedFilters === null) return;
    return chain(this.#followIncludes(), () => this.#followFilters());
  }

  #followIncludes(): MaybePromise<void> {
    if (this.#affectedParents.isEmpty) return;
    const { to } = this.#batch;
    if (to !== null) return this.#matchParents(to);
    for (const includeGroup of this.#affectedParents.groups) this.#overflow(includeGroup);
  }

  async #matchParents(to: Position): Promise<void> {
    try {
      const { rows, overflowing } = await this.#affectedParents.find(
        this.#options.log,
        this.#batch.changes,
        to,
      );
      for (const includeGroup of overflowing) this.#overflow(includeGroup);
      for (const { row, groups } of rows) {
        const rowChange = unchangedRow(row, logPositionOrdinal(to));
        for (const { index } of groups) {
          index.visit(rowChange, (group) => {
            if (group.hasListeners) this.matchRow(group, rowChange);
          });
        }
      }
    } catch (error) {
      const groups = [...this.#affectedParents.groups].flatMap(({ groups }) => [...groups]);
      this.#events.fail(groups, error);
    }
  }

  #followFilters(): MaybePromise<void> {
    const { to } = this.#batch;
    const related = this.#relatedFilters;
    if (to === null || related === null) return;
    return this.#evaluateRelated(related, to).catch((error) =>
      this.#events.fail(related.groups, error)
    );
  }

  async #evaluateRelated(related: RelatedFilterDispatch, to: Position): Promise<void> {
    for (const [group, events] of await related.evaluate(to)) {
      if (events === null) this.invalidate(group, "relation_overflow");
      else this.#events.set(group, events);
    }
  }

  #evaluate(group: SubscriberGroup, rowChange: RowChange): void {
    const before = rowChange.before === null ? false : group.decide(rowChange.before);
    const after = passesAfter(group, rowChange, before);
    this.#checkSometimes(group, rowChange);
    if (before === null || after === null) {
      const { table } = group.query;
      const deferred = this.#deferred.get(table) ?? new DeferredEvaluations(table);
      this.#deferred.set(table, deferred);
      deferred.add({ group, rowChange, place: this.#events.append(group, null) });
      return;
    }
    const kind = transitionKind(before, after);
    if (kind !== null) this.#events.append(group, { kind, rowChange });
    else doubtAbsence(group, rowChange);
  }

  #checkSometimes(group: SubscriberGroup, rowChange: RowChange): void {
    if (this.#options.matcher.shouldCheck()) this.#options.check(group, rowChange);
  }

  async #evaluateInDatabase(): Promise<void> {
    const parts = [...this.#deferred.values()].flatMap((deferred) => deferred.parts());
    const { affordable, left } = withinSteps(parts);
    const waiting = affordable.values();
    const evaluateNext = async () => {
      for (const part of waiting) await this.#evaluatePart(part);
    };
    await Promise.all(Array.from({ length: maxConcurrentParts }, evaluateNext));
    // The remaining statements would delay all streams, so the streams that need them end.
    for (const { groups } of left) this.#events.fail(groups, tooMuchWork());
  }

  async #evaluatePart(part: DeferredEvaluations): Promise<void> {
    try {
      for (const evaluated of await part.evaluateInDatabase(this.#options.matcher)) {
        const { group, rowChange, place, kind } = evaluated;
        if (kind !== null) this.#events.fill(group, place, { kind, rowChange });
        else doubtAbsence(group, rowChange);
      }
    } catch (error) {
      this.#events.fail(part.groups, error);
    }
  }

  #deliver(): MaybePromise<void> {
    const { resumeTokens, maxEventBytes } = this.#options;
    const { to } = this.#batch;
    const options = { resumeTokens, maxEventBytes, fanOut: this.#fanOut, to };
    return new BatchDelivery(this.#events, options).deliver();
  }
}

const maxConcurrentParts = 2;
/** Limit of the estimated evaluation steps for one batch: a few seconds of work in the database. */
const maxSteps = 8 * maxStepsOfPart;

function withinSteps(parts: readonly DeferredStatement[]): {
  readonly affordable: readonly DeferredEvaluations[];
  readonly left: readonly DeferredEvaluations[];
} {
  let steps = 0;
  const affordable: DeferredEvaluations[] = [];
  const left: DeferredEvaluations[] = [];
  for (const part of [...parts].sort((one, other) => one.steps - other.steps)) {
    steps += Math.min(part.steps, maxStepsOfPart);
    (steps > maxSteps ? left : affordable).push(part.evaluations);
  }
  return { affordable, left };
}

function tooMuchWork(): Error {
  return new Error("The filters of the streams take too long for these changes");
}

/** Reports the row to shared results, which may have read a state between `before` and `after`. */
function doubtAbsence({ transitionListeners }: SubscriberGroup, rowChange: RowChange): void {
  if (rowChange.between.length === 0) return;
  for (const listener of transitionListeners) listener.doubt(rowChange);
}

function passesAfter(
  { decide, columnsRead }: SubscriberGroup,
  { before, after, changed }: RowChange,
  passesBefore: boolean | null,
): boolean | null {
  if (after === null) return false;
  return before !== null && (changed & columnsRead) === 0 ? passesBefore : decide(after);
}
