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
import { mayAffectFilters, relatedTables } from "../match/may_affect_filters.ts";
import type { IncludeGroup } from "../dispatch/include_group.ts";
import { AffectedParents, type FoundParents } from "../match/affected_parents.ts";

/** Whom changes concern, and who decides that. */
export interface Evaluation {
  readonly group: SubscriberGroup;
  readonly matcher: Matcher;
}

/** How changes are told to somebody who did not read them live. */
export interface RenderOptions extends Evaluation {
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
export async function renderMissedChanges(
  changes: readonly Change[],
  { group, matcher, log, to, held, isNet, isRepeat, upTo }: RenderOptions,
): Promise<{ readonly text: string } | { readonly reason: InvalidationReason }> {
  // Most who look have missed nothing.
  if (changes.length === 0) return { text: "" };
  const { query, heldRows: rows } = group;
  const { table } = query;
  const rowChanges = rowChangesFor(group, changes, { matcher, held });
  if ("reason" in rowChanges) return rowChanges;
  const affected = await affectedRowChanges(group, changes, { log, to });
  const reachedBy = await reachedRowChanges(group, changes, { log, to, held });
  if (affected === null || reachedBy === null) return { reason: "relation_overflow" };
  const all = [...rowChanges.list, ...affected, ...reachedBy];
  // What is read now is told of the last change only.
  const net = isNet || group.isSentByStep ? netRowChanges(all, table) : all;
  const reached = upTo === null
    ? net
    : net.filter((rowChange) => compareKeys(rowChangeKey(rowChange, table), upTo, table) <= 0);
  const transitions = rows === null || held === null
    ? await evaluate(reached, { group, matcher, isRepeat })
    : await evaluateRelated(reached, { group, matcher, log, to, held, isRepeat });
  if (transitions === null) return { reason: "relation_overflow" };
  const renderer = new EventRenderer(query, group.isSentByStep ? positionOrdinal(to) : null);
  for (const event of transitions) renderer.add(event);
  await renderer.prepare();
  if (renderer.isIncomplete) return { reason: "relation_overflow" };
  return { text: transitions.map((event) => renderer.text(event)).join("") };
}

/** The events of some changes, one by one; null where what is known must be read anew. */
export async function evaluateChanges(
  changes: readonly Change[],
  { group, matcher }: Evaluation,
): Promise<readonly Transition[] | null> {
  const rowChanges = rowChangesFor(group, changes, { matcher, held: null });
  if ("reason" in rowChanges) return null;
  return await evaluate(rowChanges.list, { group, matcher, isRepeat: false });
}

/** What the changes are to the rows that a group follows. */
function rowChangesFor(
  { query: { table, filter }, includeGroup }: SubscriberGroup,
  changes: readonly Change[],
  { matcher, held }: Pick<RenderOptions, "matcher" | "held">,
): { readonly list: readonly RowChange[] } | { readonly reason: InvalidationReason } {
  const behind = relatedTables([filter]);
  const beneath = new Set(includeGroup?.includePaths.map(({ table }) => table));
  const list: RowChange[] = [];
  for (const change of changes) {
    const { kind } = change;
    const isUntold = kind === "truncate" || kind === "touch";
    // With memory of what is held, the rows at the other end are found and judged one by one.
    const isUnevaluated = isUntold || held?.isComplete !== true;
    if (
      (isUnevaluated && behind.has(change.table) && mayAffectFilters(change, [filter], matcher)) ||
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
async function affectedRowChanges(
  { includeGroup }: SubscriberGroup,
  changes: readonly Change[],
  { log, to }: Pick<RenderOptions, "log" | "to">,
): Promise<readonly RowChange[] | null> {
  if (includeGroup === null) return [];
  const parents = new AffectedParents<IncludeGroup>();
  for (const change of changes) parents.add(change, includeGroup);
  return parents.isEmpty ? [] : rowChangesOfRows(await parents.find(log, changes, to), to);
}

/** The rows at the other end of related ones that have changed; null where there are too many. */
async function reachedRowChanges(
  group: SubscriberGroup,
  changes: readonly Change[],
  { log, to, held }: Pick<RenderOptions, "log" | "to" | "held">,
): Promise<readonly RowChange[] | null> {
  if (group.heldRows === null || held?.isComplete !== true) return [];
  const parents = new AffectedParents<SubscriberGroup>();
  for (const change of changes) parents.add(change, group);
  return parents.isEmpty ? [] : rowChangesOfRows(await parents.findAll(log), to);
}

function rowChangesOfRows<S>(
  { rows, overflowing }: FoundParents<S>,
  to: Position,
): readonly RowChange[] | null {
  return overflowing.size > 0
    ? null
    : rows.map(({ row }) => unchangedRow(row, positionOrdinal(to)));
}

/** What the passages are to somebody whose rows the database decides; null where it is not known. */
async function evaluateRelated(
  rowChanges: readonly RowChange[],
  { group, matcher, log, to, held, isRepeat }:
    & Pick<RenderOptions, "group" | "matcher" | "log" | "to" | "isRepeat">
    & { readonly held: HeldRows },
): Promise<readonly Transition[] | null> {
  const concerned = { group, rowChanges, held, isRepeat };
  const evaluations =
    (await evaluateCurrentRows([concerned], { log, matcher, to })).get(concerned) ??
      null;
  if (evaluations === null) return null;
  return evaluations.flatMap((evaluation) => transitionsOf(evaluation, evaluation.was));
}

/** What the passages are to a group. */
async function evaluate(
  rowChanges: readonly RowChange[],
  { group, matcher, isRepeat }: Evaluation & Pick<RenderOptions, "isRepeat">,
): Promise<readonly Transition[]> {
  const images = new Set<RowImage>();
  for (const { before, after, between } of rowChanges) {
    if (before !== null) images.add(before);
    if (after !== null) images.add(after);
    if (isRepeat) { for (const image of between) images.add(image); }
  }
  const passes = await decide([...images], group, matcher);
  const isIn = (image: RowImage | null) => image !== null && passes.get(image) === true;
  const transitions: Transition[] = [];
  for (const rowChange of rowChanges) {
    // Whoever may have seen the row come and not go again must be told that it is gone.
    const was = isIn(rowChange.before) ||
      (isRepeat && !isIn(rowChange.after) && rowChange.between.some(isIn));
    const kind = transitionKind(was, isIn(rowChange.after));
    if (kind !== null) transitions.push({ kind, rowChange });
  }
  return transitions;
}

async function decide(
  images: readonly RowImage[],
  { decide, query: { filter, table } }: SubscriberGroup,
  matcher: Matcher,
): Promise<ReadonlyMap<RowImage, boolean>> {
  const decided = new Map<RowImage, boolean>();
  const open: RowImage[] = [];
  for (const image of images) {
    const passes = decide(image);
    if (passes === null) open.push(image);
    else decided.set(image, passes);
  }
  if (open.length > 0) {
    const answers = await matcher.evaluateInDatabase(table, open, [filter]);
    open.forEach((image, index) => decided.set(image, answers[index]?.[0] === true));
  }
  return decided;
}
