import type { ChangeLog, Position, Step } from "../../db/changes/change_log.ts";
import type { RowReader } from "../../db/rows.ts";
import type { RowImage } from "../../filter/match/row_image.ts";
import { type Key, keyId } from "../../plan/key.ts";
import { fitsKind } from "../../schema/fits_kind.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";
import { allColumns } from "./column_bits.ts";
import type { Matcher } from "./matcher.ts";
import type { SubscriberGroup } from "../dispatch/subscriber_group.ts";
import type { HeldRows } from "./held_rows.ts";
import { type RowChange, rowChangeKey, type Transition, transitionKind } from "./row_change.ts";
import { reachesRows } from "./relation_reach.ts";
import { readCurrentRows } from "./read_current_rows.ts";

/** Rows that changes concern, for readers of a group whose filter walks along relations. */
export interface ConcernedRows {
  readonly group: SubscriberGroup;
  /** One for each row. */
  readonly passages: readonly RowChange[];
  /** What the readers hold. Afterwards it is what they hold once they are told. */
  readonly held: HeldRows;
  /** Whether they may have been told of some of the changes already. */
  readonly isRepeat: boolean;
}

/** What is found of a row: whether it passed for the readers the last time, and whether it does. */
export interface RowEvaluation {
  readonly id: string;
  /** The row as it was read together with the decision. */
  readonly passage: RowChange;
  readonly was: boolean;
  readonly passes: boolean;
}

/** What a verdict is to who held the row, or did not. */
export function transitionsOf(
  { passage, passes }: RowEvaluation,
  was: boolean,
): readonly Transition[] {
  const kind = transitionKind(was, passes);
  return kind === null ? [] : [{ kind, passage }];
}

/** Who decides, and where one stands behind the changes. */
export interface EvaluationContext {
  readonly log: ChangeLog;
  readonly decider: Matcher;
  readonly to: Position;
}

/**
 * What the database says now of rows that changes concern: row and decision are of one statement, so
 * that nothing is ever shown that the reader could not have listed, whatever the row was when its
 * right was another. Null for those who must begin anew, because nobody knows what they hold.
 */
export async function evaluateCurrentRows<C extends ConcernedRows>(
  concerns: readonly C[],
  bench: EvaluationContext,
): Promise<ReadonlyMap<C, readonly RowEvaluation[] | null>> {
  const { log, decider, to } = bench;
  const open = concerns.map(openConcern);
  const sought = open.filter(({ rows }) =>
    rows.length > 0 && rows.every(({ isSought }) => isSought)
  );
  const unknown = sought.filter(({ images }) => images.size > 0);
  await askBefore(unknown, decider);
  const readings = await readAll(sought, log);
  const moved = unknown.length === 0 ? unknown : await movedSince(unknown, bench);
  const lost = new Set([
    ...moved,
    ...open.filter(({ rows }) => rows.some(({ isSought }) => !isSought)),
  ]);
  return new Map(open.map((one) => {
    const { concern } = one;
    const verdicts = lost.has(one) ? null : decideRows(one, readings.get(one) ?? new Map(), to);
    concern.held.settle(to);
    return [concern, verdicts];
  }));
}

interface OpenRow {
  readonly id: string;
  readonly key: Key;
  /** Whether the key finds the row. */
  readonly isSought: boolean;
  readonly passage: RowChange;
  /** Whether it passed the last time; null where that is not remembered. */
  readonly was: boolean | null;
}

interface OpenConcern<C> {
  readonly concern: C;
  readonly rows: readonly OpenRow[];
  /** What rows were of which nobody remembers whether they passed; then what is said of them. */
  readonly images: Map<RowImage, boolean>;
}

function openConcern<C extends ConcernedRows>(concern: C): OpenConcern<C> {
  const { group: { decide, interest: { table } }, passages, held, isRepeat } = concern;
  const rows: OpenRow[] = [];
  const images = new Map<RowImage, boolean>();
  for (const passage of passages) {
    const { before, after, between } = passage;
    const all = [before, after, ...between].filter((image) => image !== null);
    if (all.every((image) => decide(image) === false)) continue;
    const key = rowChangeKey(passage, table);
    const id = keyId(key, table);
    const was = held.has(id);
    rows.push({ id, key, isSought: isSought(key, table), passage, was });
    if (was !== null) continue;
    for (const image of isRepeat ? [before, ...between] : [before]) {
      if (image !== null && decide(image) !== false) images.set(image, false);
    }
  }
  return { concern, rows, images };
}

/** A key that is not stored as it is in process is not found by it. */
function isSought(key: Key, { primaryKey, own }: TableInfo): boolean {
  return primaryKey.every((column, index) => {
    const value = key[index] ?? null;
    const isExact = own || !inexactKinds.has(column.kind);
    return value !== null && isExact && fitsKind(value, column);
  });
}

const inexactKinds: ReadonlySet<string> = new Set(["timestamp", "json", "bytes"]);

/** Whether the rows passed before: as long as no related row changes, those of now decide it. */
async function askBefore<C extends ConcernedRows>(
  concerns: readonly OpenConcern<C>[],
  decider: Matcher,
): Promise<void> {
  const byTable = Map.groupBy(concerns, ({ concern }) => concern.group.interest.table);
  for (const [table, some] of byTable) {
    const images = [...new Set(some.flatMap(({ images }) => [...images.keys()]))];
    const filters = some.map(({ concern }) => concern.group.interest.filter);
    const answers = await decider.ask(table, images, filters);
    images.forEach((image, place) => {
      some.forEach(({ images }, index) => {
        if (images.has(image)) images.set(image, answers[place]?.[index] === true);
      });
    });
  }
}

/** What a statement has found of a row for a concern. */
interface Reading {
  readonly passage: RowChange;
  readonly passes: boolean;
  readonly at: Position;
}

/** By the ids of the rows. */
type Readings = ReadonlyMap<string, Reading>;

/** Those who ask about the same rows share the statement, and what is made of its rows. */
async function readAll<C extends ConcernedRows>(
  concerns: readonly OpenConcern<C>[],
  log: ChangeLog,
): Promise<ReadonlyMap<OpenConcern<C>, Readings>> {
  const readings = new Map<OpenConcern<C>, Map<string, Reading>>();
  for (const { rows, concerns: some, reader, table } of batchesOf(concerns)) {
    for (const one of some) readings.set(one, new Map());
    const passages = new Map(rows.map(({ id, passage }) => [id, passage]));
    const keys = rows.map(({ key }) => key);
    const filters = some.map(({ concern }) => concern.group.interest.filter);
    for (const found of await readCurrentRows(log, { table, reader, keys, filters })) {
      const { at, ids, from } = found;
      for (const id of ids) {
        const now = found.rows.get(id);
        const passage = passageNow(passages.get(id), now?.row ?? null);
        // Of a row that is not there no filter was asked.
        const truths = now?.passes ?? filters.map(() => false);
        some.slice(from, from + truths.length).forEach((one, index) => {
          readings.get(one)?.set(id, { passage, passes: truths[index] === true, at });
        });
      }
    }
  }
  return readings;
}

interface Batch<C> {
  readonly table: TableInfo;
  readonly reader: RowReader;
  readonly rows: readonly OpenRow[];
  readonly concerns: OpenConcern<C>[];
}

function batchesOf<C extends ConcernedRows>(
  concerns: readonly OpenConcern<C>[],
): readonly Batch<C>[] {
  const byReader = new Map<RowReader, Map<string, Batch<C>>>();
  for (const one of concerns) {
    const { rows, concern: { group: { interest: { table, reader } } } } = one;
    const byRows = byReader.get(reader) ?? new Map<string, Batch<C>>();
    byReader.set(reader, byRows);
    const same = JSON.stringify([table.name, ...rows.map(({ id }) => id)]);
    const batch = byRows.get(same) ?? { table, reader, rows, concerns: [] };
    batch.concerns.push(one);
    byRows.set(same, batch);
  }
  return [...byReader.values()].flatMap((byRows) => [...byRows.values()]);
}

/** What a client is told is the row as it is; what the change made of it may never have been its. */
function passageNow(passage: RowChange | undefined, row: Row | null): RowChange {
  const { before = null, after = null, between = [], optimisticId = null } = passage ?? {};
  return {
    seq: 0,
    before: before ?? after ?? between[0] ?? null,
    after: row === null ? null : { row },
    changed: allColumns,
    between: [],
    optimisticId,
  };
}

/** Those to whose rows related ones have changed meanwhile: what was asked may be wrong. */
async function movedSince<C extends ConcernedRows>(
  concerns: readonly OpenConcern<C>[],
  { log, decider, to }: EvaluationContext,
): Promise<ReadonlySet<OpenConcern<C>>> {
  const moved = new Set<OpenConcern<C>>();
  let from: Position | Step = to;
  for (let looks = 0; looks < mostLooks; looks++) {
    const step: Step | null = await log.next(from);
    if (step === null) break;
    for (const change of step.changes) {
      for (const one of concerns) {
        const { filter } = one.concern.group.interest;
        if (reachesRows(change, [filter], decider)) moved.add(one);
      }
    }
    if (step.to !== null && step.changes.length === 0) return moved;
    from = step.to ?? step;
  }
  // So much is being written that nobody knows.
  return new Set(concerns);
}

const mostLooks = 5;

function decideRows<C extends ConcernedRows>(
  { concern, rows, images }: OpenConcern<C>,
  readings: Readings,
  to: Position,
): readonly RowEvaluation[] {
  const { held, isRepeat } = concern;
  const passed = (image: RowImage | null) => image !== null && images.get(image) === true;
  return rows.flatMap(({ id, was: isHeld, passage: { before, between } }) => {
    const reading = readings.get(id);
    if (reading === undefined) return [];
    const { passage, passes, at } = reading;
    // Who may have seen the row come and not go again must be told that it is gone.
    const was = isHeld ??
      (passed(before) || (isRepeat && !passes && between.some(passed)));
    // Memory may end with any row that comes into it.
    held.set(id, passes, { at, to });
    return [{ id, passage, was, passes }];
  });
}
