import type { ChangeLog, Position, Step } from "../../db/changes/change_log.ts";
import type { RowReader } from "../../db/rows.ts";
import type { RowImage } from "../../filter/match/row_image.ts";
import { type Key, keyId } from "../../plan/key.ts";
import { fitsKind } from "../../schema/fits_kind.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";
import { allColumns } from "./column_mask.ts";
import type { Matcher } from "./matcher.ts";
import type { SubscriberGroup } from "../dispatch/subscriber_group.ts";
import type { HeldRows } from "./held_rows.ts";
import { type RowChange, rowChangeKey, type Transition, transitionKind } from "./row_change.ts";
import { mayAffectFilters } from "./may_affect_filters.ts";
import { readCurrentRows } from "./read_current_rows.ts";

/** Rows that changes concern, for readers of a group whose filter walks along relations. */
export interface RowsToEvaluate {
  readonly group: SubscriberGroup;
  /** One for each row. */
  readonly rowChanges: readonly RowChange[];
  /** What the readers hold. Afterwards it is what they hold once they are told. */
  readonly held: HeldRows;
  /** Whether they may have been told of some of the changes already. */
  readonly isRepeat: boolean;
}

/** What is found of a row: whether it passed for the readers the last time, and whether it does. */
export interface RowEvaluation {
  readonly id: string;
  /** The row as it was read together with the decision. */
  readonly rowChange: RowChange;
  readonly was: boolean;
  readonly passes: boolean;
}

/** What a verdict is to who held the row, or did not. */
export function transitionsOf(
  { rowChange, passes }: RowEvaluation,
  was: boolean,
): readonly Transition[] {
  const kind = transitionKind(was, passes);
  return kind === null ? [] : [{ kind, rowChange }];
}

/** Who decides, and where one stands behind the changes. */
export interface EvaluationContext {
  readonly log: ChangeLog;
  readonly matcher: Matcher;
  readonly to: Position;
}

/**
 * What the database says now of rows that changes concern: row and decision are of one statement, so
 * that nothing is ever shown that the reader could not have listed, whatever the row was when its
 * right was another. Null for those who must begin anew, because nobody knows what they hold.
 */
export async function evaluateCurrentRows<C extends RowsToEvaluate>(
  requests: readonly C[],
  context: EvaluationContext,
): Promise<ReadonlyMap<C, readonly RowEvaluation[] | null>> {
  const { log, matcher, to } = context;
  const open = requests.map(pendingRowsOf);
  const searchable = open.filter(({ rows }) =>
    rows.length > 0 && rows.every(({ isSearchable }) => isSearchable)
  );
  const unknown = searchable.filter(({ images }) => images.size > 0);
  await evaluateBefore(unknown, matcher);
  const readings = await readAll(searchable, log);
  const moved = unknown.length === 0 ? unknown : await movedSince(unknown, context);
  const unknowable = new Set([
    ...moved,
    ...open.filter(({ rows }) => rows.some(({ isSearchable }) => !isSearchable)),
  ]);
  return new Map(open.map((one) => {
    const { request } = one;
    const evaluations = unknowable.has(one)
      ? null
      : decideRows(one, readings.get(one) ?? new Map(), to);
    request.held.advance(to);
    return [request, evaluations];
  }));
}

interface PendingRow {
  readonly id: string;
  readonly key: Key;
  /** Whether the key finds the row. */
  readonly isSearchable: boolean;
  readonly rowChange: RowChange;
  /** Whether it passed the last time; null where that is not remembered. */
  readonly was: boolean | null;
}

interface PendingRows<C> {
  readonly request: C;
  readonly rows: readonly PendingRow[];
  /** What rows were of which nobody remembers whether they passed; then what is said of them. */
  readonly images: Map<RowImage, boolean>;
}

function pendingRowsOf<C extends RowsToEvaluate>(request: C): PendingRows<C> {
  const { group: { decide, query: { table } }, rowChanges, held, isRepeat } = request;
  const rows: PendingRow[] = [];
  const images = new Map<RowImage, boolean>();
  for (const rowChange of rowChanges) {
    const { before, after, between } = rowChange;
    const all = [before, after, ...between].filter((image) => image !== null);
    if (all.every((image) => decide(image) === false)) continue;
    const key = rowChangeKey(rowChange, table);
    const id = keyId(key, table);
    const was = held.has(id);
    rows.push({ id, key, isSearchable: isSearchable(key, table), rowChange, was });
    if (was !== null) continue;
    for (const image of isRepeat ? [before, ...between] : [before]) {
      if (image !== null && decide(image) !== false) images.set(image, false);
    }
  }
  return { request, rows, images };
}

/** A key that is not stored as it is in process is not found by it. */
function isSearchable(key: Key, { primaryKey, own }: TableInfo): boolean {
  return primaryKey.every((column, index) => {
    const value = key[index] ?? null;
    const isExact = own || !inexactKinds.has(column.kind);
    return value !== null && isExact && fitsKind(value, column);
  });
}

const inexactKinds: ReadonlySet<string> = new Set(["timestamp", "json", "bytes"]);

/** Whether the rows passed before: as long as no related row changes, those of now decide it. */
async function evaluateBefore<C extends RowsToEvaluate>(
  requests: readonly PendingRows<C>[],
  matcher: Matcher,
): Promise<void> {
  const byTable = Map.groupBy(requests, ({ request }) => request.group.query.table);
  for (const [table, some] of byTable) {
    const images = [...new Set(some.flatMap(({ images }) => [...images.keys()]))];
    const filters = some.map(({ request }) => request.group.query.filter);
    const answers = await matcher.evaluateInDatabase(table, images, filters);
    images.forEach((image, place) => {
      some.forEach(({ images }, index) => {
        if (images.has(image)) images.set(image, answers[place]?.[index] === true);
      });
    });
  }
}

/** What a statement has found of a row for a concern. */
interface Reading {
  readonly rowChange: RowChange;
  readonly passes: boolean;
  readonly at: Position;
}

/** By the ids of the rows. */
type ReadingsById = ReadonlyMap<string, Reading>;

/** Those who ask about the same rows share the statement, and what is made of its rows. */
async function readAll<C extends RowsToEvaluate>(
  requests: readonly PendingRows<C>[],
  log: ChangeLog,
): Promise<ReadonlyMap<PendingRows<C>, ReadingsById>> {
  const readings = new Map<PendingRows<C>, Map<string, Reading>>();
  for (const { rows, requests: some, reader, table } of batchesOf(requests)) {
    for (const one of some) readings.set(one, new Map());
    const rowChanges = new Map(rows.map(({ id, rowChange }) => [id, rowChange]));
    const keys = rows.map(({ key }) => key);
    const filters = some.map(({ request }) => request.group.query.filter);
    for (const found of await readCurrentRows(log, { table, reader, keys, filters })) {
      const { at, ids, from } = found;
      for (const id of ids) {
        const now = found.rows.get(id);
        const rowChange = currentRowChange(rowChanges.get(id), now?.row ?? null);
        // Of a row that is not there no filter was asked.
        const truths = now?.passes ?? filters.map(() => false);
        some.slice(from, from + truths.length).forEach((one, index) => {
          readings.get(one)?.set(id, { rowChange, passes: truths[index] === true, at });
        });
      }
    }
  }
  return readings;
}

interface Batch<C> {
  readonly table: TableInfo;
  readonly reader: RowReader;
  readonly rows: readonly PendingRow[];
  readonly requests: PendingRows<C>[];
}

function batchesOf<C extends RowsToEvaluate>(
  requests: readonly PendingRows<C>[],
): readonly Batch<C>[] {
  const byReader = new Map<RowReader, Map<string, Batch<C>>>();
  for (const one of requests) {
    const { rows, request: { group: { query: { table, reader } } } } = one;
    const byRows = byReader.get(reader) ?? new Map<string, Batch<C>>();
    byReader.set(reader, byRows);
    const same = JSON.stringify([table.name, ...rows.map(({ id }) => id)]);
    const batch = byRows.get(same) ?? { table, reader, rows, requests: [] };
    batch.requests.push(one);
    byRows.set(same, batch);
  }
  return [...byReader.values()].flatMap((byRows) => [...byRows.values()]);
}

/** What a client is told is the row as it is; what the change made of it may never have been its. */
function currentRowChange(rowChange: RowChange | undefined, row: Row | null): RowChange {
  const { before = null, after = null, between = [], optimisticId = null } = rowChange ?? {};
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
async function movedSince<C extends RowsToEvaluate>(
  requests: readonly PendingRows<C>[],
  { log, matcher, to }: EvaluationContext,
): Promise<ReadonlySet<PendingRows<C>>> {
  const moved = new Set<PendingRows<C>>();
  let from: Position | Step = to;
  for (let looks = 0; looks < maxReads; looks++) {
    const step: Step | null = await log.next(from);
    if (step === null) break;
    for (const change of step.changes) {
      for (const one of requests) {
        const { filter } = one.request.group.query;
        if (mayAffectFilters(change, [filter], matcher)) moved.add(one);
      }
    }
    if (step.to !== null && step.changes.length === 0) return moved;
    from = step.to ?? step;
  }
  // So much is being written that nobody knows.
  return new Set(requests);
}

const maxReads = 5;

function decideRows<C extends RowsToEvaluate>(
  { request, rows, images }: PendingRows<C>,
  readings: ReadingsById,
  to: Position,
): readonly RowEvaluation[] {
  const { held, isRepeat } = request;
  const passed = (image: RowImage | null) => image !== null && images.get(image) === true;
  return rows.flatMap(({ id, was: isHeld, rowChange: { before, between } }) => {
    const query = readings.get(id);
    if (query === undefined) return [];
    const { rowChange, passes, at } = query;
    // Who may have seen the row come and not go again must be told that it is gone.
    const was = isHeld ??
      (passed(before) || (isRepeat && !passes && between.some(passed)));
    // Memory may end with any row that comes into it.
    held.set(id, passes, { at, to });
    return [{ id, rowChange, was, passes }];
  });
}
