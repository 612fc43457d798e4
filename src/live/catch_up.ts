import type { Change } from "../db/change_log.ts";
import type { RowImage } from "../filter/row_image.ts";
import { compareKeys, type Key } from "../plan/key.ts";
import type { Decider } from "./decider.ts";
import { FrameMaker } from "./frame_maker.ts";
import type { InvalidationReason } from "./frames.ts";
import type { Group } from "./group.ts";
import {
  eventKind,
  netPassages,
  type Passage,
  passageKey,
  passagesOf,
  type RowEvent,
} from "./passage.ts";
import { reachesRows, tablesBehind } from "./relation_reach.ts";

/** Whom changes concern, and who decides that. */
export interface Judgement {
  readonly group: Group;
  readonly decider: Decider;
}

/** How changes are told to somebody who did not read them live. */
export interface CatchUp extends Judgement {
  /** Tells only what is left of the changes of a row. */
  readonly isNet: boolean;
  /** Whether the reader may have seen some of the changes already. */
  readonly isRepeat: boolean;
  /** Only rows up to this key: those behind are still to come in pages. Null for all rows. */
  readonly upTo: Key | null;
}

/** The text of the events of some changes, or why the reader must begin anew. */
export async function tellChanges(
  changes: readonly Change[],
  { group, decider, isNet, isRepeat, upTo }: CatchUp,
): Promise<{ readonly text: string } | { readonly reason: InvalidationReason }> {
  const { table, view } = group.interest;
  const passages = readPassages(changes, { group, decider });
  if ("reason" in passages) return passages;
  const reached = upTo === null
    ? passages
    : passages.filter((passage) => compareKeys(passageKey(passage, table), upTo, table) <= 0);
  const events = await judge(isNet ? netPassages(reached, table) : reached, {
    group,
    decider,
    isRepeat,
  });
  const maker = new FrameMaker(table, view);
  for (const event of events) maker.want(event);
  await maker.prepare();
  return { text: events.map((event) => maker.text(event)).join("") };
}

/** The events of some changes, one by one; null where what is known must be read anew. */
export async function judgeChanges(
  changes: readonly Change[],
  judgement: Judgement,
): Promise<readonly RowEvent[] | null> {
  const passages = readPassages(changes, judgement);
  return "reason" in passages ? null : await judge(passages, { ...judgement, isRepeat: false });
}

/** What happened to the rows of a group's table, or why nobody knows. */
function readPassages(
  changes: readonly Change[],
  { group: { interest: { table, filter } }, decider }: Judgement,
): readonly Passage[] | { readonly reason: InvalidationReason } {
  const behind = tablesBehind(filter);
  const passages: Passage[] = [];
  for (const change of changes) {
    if (behind.has(change.table) && reachesRows(change, filter, decider)) {
      return { reason: "relation_overflow" };
    }
    if (change.table !== table) continue;
    if (change.kind === "truncate") return { reason: "truncated" };
    if (change.kind === "touch") return { reason: "untracked_write" };
    passages.push(...passagesOf(change));
  }
  return passages;
}

/** What the passages are to a group. */
async function judge(
  passages: readonly Passage[],
  { group, decider, isRepeat }: Judgement & Pick<CatchUp, "isRepeat">,
): Promise<readonly RowEvent[]> {
  const images = new Set<RowImage>();
  for (const { before, after, between } of passages) {
    if (before !== null) images.add(before);
    if (after !== null) images.add(after);
    if (isRepeat) { for (const image of between) images.add(image); }
  }
  const passes = await decide([...images], group, decider);
  const isIn = (image: RowImage | null) => image !== null && passes.get(image) === true;
  const events: RowEvent[] = [];
  for (const passage of passages) {
    // Whoever may have seen the row come and not go again must be told that it is gone.
    const was = isIn(passage.before) ||
      (isRepeat && !isIn(passage.after) && passage.between.some(isIn));
    const kind = eventKind(was, isIn(passage.after));
    if (kind !== null) events.push({ kind, passage });
  }
  return events;
}

async function decide(
  images: readonly RowImage[],
  { decide, interest: { filter, table } }: Group,
  decider: Decider,
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
