import { DatabaseError } from "../../db/database_error.ts";
import type { Change, ChangeLog } from "../../db/changes/change_log.ts";
import { logPositionOrdinal, type Position } from "../../db/changes/log_position.ts";
import { compareKeys, type Key } from "../../plan/key.ts";
import type { InvalidationReason } from "../dispatch/server_sent_events.ts";
import { EventRenderer, type SubscriberGroup } from "../dispatch/subscriber_group.ts";
import {
  type AffectedGroup,
  AffectedParents,
  type FoundParents,
} from "../match/affected_parents.ts";
import { evaluateCurrentRows, transitionsOf } from "../match/evaluate_current_rows.ts";
import type { HeldRows } from "../match/held_rows.ts";
import {
  netRowChanges,
  type RowChange,
  rowChangeKey,
  rowChangesOf,
  type Transition,
  transitionKind,
  unchangedRow,
} from "../match/row_change.ts";
import type { RowImage } from "../../filter/match/row_matches.ts";
import type { Matcher } from "../match/matcher.ts";
import { mayAffectFilter, relatedTables } from "../match/may_affect_filter.ts";

export interface GroupEvaluation {
  readonly group: SubscriberGroup;
  readonly matcher: Matcher;
  readonly identity: string;
}

/** Returns how recorded changes affect one group's rows, or null if the rows must be read again. */
export async function evaluateChanges(
  changes: readonly Change[],
  { group, matcher, identity }: GroupEvaluation,
): Promise<readonly Transition[] | null> {
  const rowChanges = rowChangesFor(group, changes, { matcher, held: null });
  if ("reason" in rowChanges) return null;
  return await evaluateRowChanges(rowChanges.list, { group, matcher, identity, isRepeat: false });
}

/** Returns the row changes to evaluate for a group, or the reason why clients must start over. */
export function rowChangesFor(
  { query: { table, filter }, includeGroup }: SubscriberGroup,
  changes: readonly Change[],
  { matcher, held }: { readonly matcher: Matcher; readonly held: HeldRows | null },
): { readonly list: readonly RowChange[] } | { readonly reason: InvalidationReason } {
  const related = relatedTables(filter);
  const included = new Set(includeGroup?.includePaths.map(({ table }) => table));
  const list: RowChange[] = [];
  for (const change of changes) {
    const { kind } = change;
    const isUnnamed = kind === "truncate" || kind === "touch";
    // `changesByFilter` finds affected rows only if it is known which rows the client holds.
    const isUnevaluated = isUnnamed || held?.isComplete !== true;
    if (
      (isUnevaluated && related.has(change.table) && mayAffectFilter(change, filter, matcher)) ||
      (isUnnamed && included.has(change.table))
    ) {
      return { reason: "relation_overflow" };
    }
    if (change.table !== table) continue;
    if (isUnnamed) return { reason: kind === "truncate" ? "truncated" : "untracked_write" };
    list.push(...rowChangesOf(change));
  }
  return { list };
}

export async function evaluateRowChanges(
  rowChanges: readonly RowChange[],
  { isRepeat, ...evaluation }: GroupEvaluation & { readonly isRepeat: boolean },
): Promise<readonly Transition[]> {
  const images = new Set<RowImage>();
  for (const { before, after, between } of rowChanges) {
    if (before !== null) images.add(before);
    if (after !== null) images.add(after);
    if (isRepeat) { for (const image of between) images.add(image); }
  }
  const passes = await evaluateImages([...images], evaluation);
  const isIn = (image: RowImage | null) => image !== null && passes.get(image) === true;
  const transitions: Transition[] = [];
  for (const rowChange of rowChanges) {
    // A resuming client may have received the row but not its removal, so the removal is sent.
    const was = isIn(rowChange.before) ||
      (isRepeat && !isIn(rowChange.after) && rowChange.between.some(isIn));
    const kind = transitionKind(was, isIn(rowChange.after));
    if (kind !== null) transitions.push({ kind, rowChange });
  }
  return transitions;
}

async function evaluateImages(
  images: readonly RowImage[],
  { group: { decide, query: { filter, table } }, matcher, identity }: GroupEvaluation,
): Promise<ReadonlyMap<RowImage, boolean>> {
  const decided = new Map<RowImage, boolean>();
  const undecided: RowImage[] = [];
  for (const image of images) {
    const passes = decide(image);
    if (passes === null) undecided.push(image);
    else decided.set(image, passes);
  }
  if (undecided.length > 0) {
    const answers = await matcher.evaluateInDatabase(table, undecided, [filter], identity);
    undecided.forEach((image, index) => decided.set(image, answers[index]?.[0] === true));
  }
  return decided;
}

export interface RenderOptions extends GroupEvaluation {
  readonly log: ChangeLog;
  readonly held: HeldRows | null;
  readonly to: Position;
  /** True to combine the changes of each row into one event. */
  readonly isNet: boolean;
  readonly isRepeat: boolean;
  /** The last key of the pages sent so far: changes of later rows are not sent. Null sends all. */
  readonly upTo: Key | null;
}

export type RenderedChanges = { readonly text: string } | { readonly reason: InvalidationReason };

export async function renderChanges(
  changes: readonly Change[],
  options: RenderOptions,
): Promise<RenderedChanges> {
  if (changes.length === 0) return { text: "" };
  const { group, matcher, identity, to, held, isNet, isRepeat, upTo } = options;
  const { query, heldRows } = group;
  const { table } = query;
  const own = rowChangesFor(group, changes, { matcher, held });
  if ("reason" in own) return own;
  const included = await changesByIncludes(changes, options);
  const related = await changesByFilter(changes, options);
  if (included === null || related === null) return { reason: "relation_overflow" };
  const all = [...own.list, ...included, ...related];
  // Events with related rows show only the current state, so one event for each row is enough.
  const net = isNet || group.isSentByStep ? netRowChanges(all, table) : all;
  const due = upTo === null
    ? net
    : net.filter((rowChange) => compareKeys(rowChangeKey(rowChange, table), upTo, table) <= 0);
  let transitions: readonly Transition[] | null;
  try {
    transitions = heldRows === null || held === null
      ? await evaluateRowChanges(due, { group, matcher, identity, isRepeat })
      : await evaluateHeldRows(due, { ...options, held });
  } catch (error) {
    // A retry from the same position would be too slow again, so the client starts over.
    if (error instanceof DatabaseError && error.kind === "too-slow") {
      return { reason: "server_reset" };
    }
    throw error;
  }
  if (transitions === null) return { reason: "relation_overflow" };
  const renderer = new EventRenderer(query, group.isSentByStep ? logPositionOrdinal(to) : null);
  for (const transition of transitions) renderer.add(transition);
  await renderer.prepare(identity);
  if (renderer.isIncomplete) return { reason: "relation_overflow" };
  return { text: transitions.map((transition) => renderer.text(transition)).join("") };
}

async function changesByIncludes(
  changes: readonly Change[],
  { group: { includeGroup }, log, to, identity }: RenderOptions,
): Promise<readonly RowChange[] | null> {
  if (includeGroup === null) return [];
  const parents = new AffectedParents<AffectedGroup>(identity);
  for (const change of changes) parents.add(change, includeGroup);
  return parents.isEmpty ? [] : unchangedRows(await parents.find(log, changes, to), to);
}

async function changesByFilter(
  changes: readonly Change[],
  { group, log, to, held, identity }: RenderOptions,
): Promise<readonly RowChange[] | null> {
  if (group.heldRows === null || held?.isComplete !== true) return [];
  const parents = new AffectedParents<SubscriberGroup>(identity);
  for (const change of changes) parents.add(change, group);
  return parents.isEmpty ? [] : unchangedRows(await parents.findAll(log, to), to);
}

function unchangedRows<G>(
  { rows, overflowing }: FoundParents<G>,
  to: Position,
): readonly RowChange[] | null {
  return overflowing.size > 0
    ? null
    : rows.map(({ row }) => unchangedRow(row, logPositionOrdinal(to)));
}

/** Returns the events for a filter that reads related rows, or null if clients must start over. */
async function evaluateHeldRows(
  rowChanges: readonly RowChange[],
  options: RenderOptions & { readonly held: HeldRows },
): Promise<readonly Transition[] | null> {
  const { group, held, isRepeat } = options;
  const request = { group, rowChanges, held, isRepeat };
  const evaluated = await evaluateCurrentRows([request], options);
  const evaluations = evaluated.get(request) ?? null;
  if (evaluations === null) return null;
  return evaluations.flatMap((evaluation) => transitionsOf(evaluation, evaluation.was));
}
