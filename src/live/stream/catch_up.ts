import type { Change, ChangeLog, Position } from "../../db/changes/change_log.ts";
import { positionOrdinal } from "../../db/changes/log_position.ts";
import type { RowImage } from "../../filter/match/row_image.ts";
import { compareKeys, type Key } from "../../plan/key.ts";
import type { Matcher } from "../match/matcher.ts";
import { EventRenderer } from "../dispatch/event_renderer.ts";
import type { InvalidationReason } from "../dispatch/server_sent_events.ts";
import type { SubscriberGroup } from "../dispatch/subscriber_group.ts";
import type { HeldRows } from "../match/held_rows.ts";
import { evaluateCurrentRows, transitionsOf } from "../match/evaluate_current_rows.ts";
import {
  netRowChanges,
  type RowChange,
  rowChangeKey,
  rowChangesOf,
  type Transition,
  transitionKind,
  unchangedRow,
} from "../match/row_change.ts";
import { reachesRows, tablesReachedBy } from "../match/relation_reach.ts";
import type { IncludeGroup } from "../dispatch/include_group.ts";
import { AffectedParents, type FoundParents } from "../match/affected_parents.ts";

/** Whom changes concern, and who decides that. */
export interface Evaluation {
  readonly group: SubscriberGroup;
  readonly decider: Matcher;
}

/** How changes are told to somebody who did not read them live. */
export interface CatchUp extends Evaluation {
  /** What the reader holds, where that is kept. */
  readonly held: HeldRows | null;
  readonly log: ChangeLog;
  /** Where one stands behind the changes. */
  readonly to: Position;
  /** Tells only what is left of the changes of a row. */
  readonly isNet: boolean;
  /** Whether the reader may have seen some of the changes already. */
  readonly isRepeat: boolean;
  /** Only rows up to this key: those behind are still to come in pages. Null for all rows. */
  readonly upTo: Key | null;
}

/** The text of the events of some changes, or why the reader must begin anew. */
export async function renderChanges(
  changes: readonly Change[],
  { group, decider, log, to, held, isNet, isRepeat, upTo }: CatchUp,
): Promise<{ readonly text: string } | { readonly reason: InvalidationReason }> {
  // Most who look have missed nothing.
  if (changes.length === 0) return { text: "" };
  const { interest, rows } = group;
  const { table } = interest;
  const passages = passagesFor(group, changes, { decider, held });
  if ("reason" in passages) return passages;
  const touched = await touchedPassages(group, changes, { log, to });
  const reachedBy = await passagesReached(group, changes, { log, to, held });
  if (touched === null || reachedBy === null) return { reason: "relation_overflow" };
  const all = [...passages.list, ...touched, ...reachedBy];
  // What is read now is told of the last change only.
  const told = isNet || group.isToldByStep ? netRowChanges(all, table) : all;
  const reached = upTo === null
    ? told
    : told.filter((passage) => compareKeys(rowChangeKey(passage, table), upTo, table) <= 0);
  const events = rows === null || held === null
    ? await judge(reached, { group, decider, isRepeat })
    : await judgeRelated(reached, { group, decider, log, to, held, isRepeat });
  if (events === null) return { reason: "relation_overflow" };
  const maker = new EventRenderer(interest, group.isToldByStep ? positionOrdinal(to) : null);
  for (const event of events) maker.want(event);
  await maker.prepare();
  if (maker.isTooMuch) return { reason: "relation_overflow" };
  return { text: events.map((event) => maker.text(event)).join("") };
}

/** The events of some changes, one by one; null where what is known must be read anew. */
export async function evaluateChanges(
  changes: readonly Change[],
  { group, decider }: Evaluation,
): Promise<readonly Transition[] | null> {
  const passages = passagesFor(group, changes, { decider, held: null });
  if ("reason" in passages) return null;
  return await judge(passages.list, { group, decider, isRepeat: false });
}

/** What the changes are to the rows that a group follows. */
function passagesFor(
  { interest: { table, filter }, showing }: SubscriberGroup,
  changes: readonly Change[],
  { decider, held }: Pick<CatchUp, "decider" | "held">,
): { readonly list: readonly RowChange[] } | { readonly reason: InvalidationReason } {
  const behind = tablesReachedBy([filter]);
  const beneath = new Set(showing?.ways.map(({ table }) => table));
  const list: RowChange[] = [];
  for (const change of changes) {
    const { kind } = change;
    const isUntold = kind === "truncate" || kind === "touch";
    // With memory of what is held, the rows at the other end are found and judged one by one.
    const isUnjudged = isUntold || held?.isComplete !== true;
    if (
      (isUnjudged && behind.has(change.table) && reachesRows(change, [filter], decider)) ||
      (isUntold && beneath.has(change.table))
    ) {
      return { reason: "relation_overflow" };
    }
    if (change.table !== table) continue;
    if (isUntold) return { reason: kind === "truncate" ? "truncated" : "untracked_write" };
    list.push(...rowChangesOf(change));
  }
  return { list };
}

/** The rows under which something has changed; null where there are too many. */
async function touchedPassages(
  { showing }: SubscriberGroup,
  changes: readonly Change[],
  { log, to }: Pick<CatchUp, "log" | "to">,
): Promise<readonly RowChange[] | null> {
  if (showing === null) return [];
  const touches = new AffectedParents<IncludeGroup>();
  for (const change of changes) touches.add(change, showing);
  return touches.isEmpty ? [] : passagesOfRows(await touches.find(log, changes, to), to);
}

/** The rows at the other end of related ones that have changed; null where there are too many. */
async function passagesReached(
  group: SubscriberGroup,
  changes: readonly Change[],
  { log, to, held }: Pick<CatchUp, "log" | "to" | "held">,
): Promise<readonly RowChange[] | null> {
  if (group.rows === null || held?.isComplete !== true) return [];
  const touches = new AffectedParents<SubscriberGroup>();
  for (const change of changes) touches.add(change, group);
  return touches.isEmpty ? [] : passagesOfRows(await touches.findAll(log), to);
}

function passagesOfRows<S>(
  { rows, overflowing }: FoundParents<S>,
  to: Position,
): readonly RowChange[] | null {
  return overflowing.size > 0
    ? null
    : rows.map(({ row }) => unchangedRow(row, positionOrdinal(to)));
}

/** What the passages are to somebody whose rows the database decides; null where it is not known. */
async function judgeRelated(
  passages: readonly RowChange[],
  { group, decider, log, to, held, isRepeat }:
    & Pick<CatchUp, "group" | "decider" | "log" | "to" | "isRepeat">
    & { readonly held: HeldRows },
): Promise<readonly Transition[] | null> {
  const concern = { group, passages, held, isRepeat };
  const verdicts = (await evaluateCurrentRows([concern], { log, decider, to })).get(concern) ??
    null;
  if (verdicts === null) return null;
  return verdicts.flatMap((verdict) => transitionsOf(verdict, verdict.was));
}

/** What the passages are to a group. */
async function judge(
  passages: readonly RowChange[],
  { group, decider, isRepeat }: Evaluation & Pick<CatchUp, "isRepeat">,
): Promise<readonly Transition[]> {
  const images = new Set<RowImage>();
  for (const { before, after, between } of passages) {
    if (before !== null) images.add(before);
    if (after !== null) images.add(after);
    if (isRepeat) { for (const image of between) images.add(image); }
  }
  const passes = await decide([...images], group, decider);
  const isIn = (image: RowImage | null) => image !== null && passes.get(image) === true;
  const events: Transition[] = [];
  for (const passage of passages) {
    // Whoever may have seen the row come and not go again must be told that it is gone.
    const was = isIn(passage.before) ||
      (isRepeat && !isIn(passage.after) && passage.between.some(isIn));
    const kind = transitionKind(was, isIn(passage.after));
    if (kind !== null) events.push({ kind, passage });
  }
  return events;
}

async function decide(
  images: readonly RowImage[],
  { decide, interest: { filter, table } }: SubscriberGroup,
  decider: Matcher,
): Promise<ReadonlyMap<RowImage, boolean>> {
  const decided = new Map<RowImage, boolean>();
  const open: RowImage[] = [];
  for (const image of images) {
    const passes = decide(image);
    if (passes === null) open.push(image);
    else decided.set(image, passes);
  }
  if (open.length > 0) {
    const answers = await decider.ask(table, open, [filter]);
    open.forEach((image, index) => decided.set(image, answers[index]?.[0] === true));
  }
  return decided;
}
