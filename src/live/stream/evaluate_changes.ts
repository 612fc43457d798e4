import type { Change } from "../../db/changes/change_log.ts";
import type { RowImage } from "../../filter/match/row_image.ts";
import type { InvalidationReason } from "../dispatch/server_sent_events.ts";
import type { SubscriberGroup } from "../dispatch/subscriber_group.ts";
import type { HeldRows } from "../match/held_rows.ts";
import type { Matcher } from "../match/matcher.ts";
import { mayAffectFilter, relatedTables } from "../match/may_affect_filter.ts";
import {
  type RowChange,
  rowChangesOf,
  type Transition,
  transitionKind,
} from "../match/row_change.ts";

export interface GroupEvaluation {
  readonly group: SubscriberGroup;
  readonly matcher: Matcher;
  /** The user or IP address whose limits the reads count against. */
  readonly identity: string;
}

/** Evaluates recorded changes for one group. Returns null if the rows must be read again. */
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
    // If the client's rows are known, {@link AffectedParents} finds each row that a change affects.
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

/** Evaluates a filter that reads no related rows, for row changes: in memory or by a statement. */
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
    // A client that resumes may have received the row but not its removal. It receives the removal.
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
