import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import type { ChangeLog, ChangeLogStep } from "../../db/changes/change_log.ts";
import type { Position } from "../../db/changes/log_position.ts";
import type { RowReader } from "../../db/rows.ts";
import type { RowImage } from "../../filter/match/row_matches.ts";
import { type Key, keyId } from "../../plan/key.ts";
import { fitsKind } from "../../schema/kinds/fits_kind.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";
import type { CompiledLiveQuery } from "../live_view.ts";
import type { HeldRows } from "./held_rows.ts";
import { allColumns, type Matcher } from "./matcher.ts";
import { mayAffectFilter } from "./may_affect_filter.ts";
import { type RowChange, rowChangeKey, type Transition, transitionKind } from "./row_change.ts";
import { readCurrentRows } from "./read_current_rows.ts";

/** Changed rows to evaluate in their current state, because the filter reads related rows. */
export interface RowsToEvaluate {
  readonly group: CompiledLiveQuery;
  readonly rowChanges: readonly RowChange[];
  /** The rows that the clients hold. The evaluation records which rows its events add or remove. */
  readonly held: HeldRows;
  readonly isRepeat: boolean;
}

/** The result for a row: if it matched before (`was`), and if it matches now (`passes`). */
export interface RowEvaluation {
  readonly id: string;
  readonly rowChange: RowChange;
  readonly was: boolean;
  readonly passes: boolean;
}

/** Returns the event that a client needs, if any. `was` is true if the client held the row. */
export function transitionsOf(
  { rowChange, passes }: RowEvaluation,
  was: boolean,
): readonly Transition[] {
  const kind = transitionKind(was, passes);
  return kind === null ? [] : [{ kind, rowChange }];
}

export interface EvaluationContext {
  readonly log: ChangeLog;
  readonly matcher: Matcher;
  readonly to: Position;
  readonly identity: string;
}

/**
 * Reads a row and evaluates the filter in one statement, so a row that a client receives matched
 * when it was read. Null means that clients must start over: it is unknown which rows they hold.
 */
export async function evaluateCurrentRows<C extends RowsToEvaluate>(
  requests: readonly C[],
  context: EvaluationContext,
): Promise<ReadonlyMap<C, readonly RowEvaluation[] | null>> {
  const { to } = context;
  const pending = requests.map(pendingRowsOf);
  const searchable = pending.filter(({ rows }) =>
    rows.length > 0 && rows.every(({ isSearchable }) => isSearchable)
  );
  const unknown = searchable.filter(({ images }) => images.size > 0);
  await evaluateBefore(unknown, context);
  const readings = await readAll(searchable, context);
  const moved = unknown.length === 0 ? unknown : await movedSince(unknown, context);
  const failed = new Set([
    ...moved,
    ...pending.filter(({ rows }) => rows.some(({ isSearchable }) => !isSearchable)),
  ]);
  return new Map(pending.map((one) => {
    const { request } = one;
    const evaluations = failed.has(one)
      ? null
      : decideRows(one, readings.get(one) ?? new Map(), to);
    request.held.advance(to);
    return [request, evaluations];
  }));
}

interface PendingRow {
  readonly id: string;
  readonly key: Key;
  readonly isSearchable: boolean;
  readonly rowChange: RowChange;
  readonly was: boolean | null;
}

interface PendingRows<C> {
  readonly request: C;
  readonly rows: readonly PendingRow[];
  /** The logged states of rows for which `was` is unknown (null). The value is true for a match. */
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
    // A client that resumes can have received any of these states of the row.
    for (const image of isRepeat ? [before, ...between, after] : [before]) {
      if (image !== null && decide(image) !== false) images.set(image, false);
    }
  }
  return { request, rows, images };
}

/** Returns false if the database can store the key in a form that differs from JavaScript's. */
function isSearchable(key: Key, { primaryKey, own }: TableInfo): boolean {
  return primaryKey.every((column, index) => {
    const value = key[index] ?? null;
    const isExact = own || !kindProperties[column.kind].hasSeveralForms;
    return value !== null && isExact && fitsKind(value, column);
  });
}

/** Evaluates the logged states of rows, as if the related rows had not changed since. */
async function evaluateBefore<C extends RowsToEvaluate>(
  pending: readonly PendingRows<C>[],
  { matcher, identity }: EvaluationContext,
): Promise<void> {
  const byTable = Map.groupBy(pending, ({ request }) => request.group.query.table);
  for (const [table, some] of byTable) {
    const images = [...new Set(some.flatMap(({ images }) => [...images.keys()]))];
    const filters = some.map(({ request }) => request.group.query.filter);
    const answers = await matcher.evaluateInDatabase(table, images, filters, identity);
    images.forEach((image, place) => {
      some.forEach(({ images }, index) => {
        if (images.has(image)) images.set(image, answers[place]?.[index] === true);
      });
    });
  }
}

interface Reading {
  readonly rowChange: RowChange;
  readonly passes: boolean;
  readonly at: Position;
}

type ReadingsById = ReadonlyMap<string, Reading>;

async function readAll<C extends RowsToEvaluate>(
  pending: readonly PendingRows<C>[],
  { log, identity }: EvaluationContext,
): Promise<ReadonlyMap<PendingRows<C>, ReadingsById>> {
  const readings = new Map<PendingRows<C>, Map<string, Reading>>();
  for (const { rows, pending: some, reader, table } of batchesOf(pending)) {
    for (const one of some) readings.set(one, new Map());
    const rowChanges = new Map(rows.map(({ id, rowChange }) => [id, rowChange]));
    const keys = rows.map(({ key }) => key);
    const filters = some.map(({ request }) => request.group.query.filter);
    const query = { table, reader, keys, filters, identity };
    for (const found of await readCurrentRows(log, query)) {
      const { at, ids, from } = found;
      for (const id of ids) {
        const now = found.rows.get(id);
        const rowChange = currentRowChange(rowChanges.get(id), now?.row ?? null);
        // A row that does not exist has no result, and matches no filter.
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
  readonly pending: PendingRows<C>[];
}

function batchesOf<C extends RowsToEvaluate>(
  pending: readonly PendingRows<C>[],
): readonly Batch<C>[] {
  const byReader = new Map<RowReader, Map<string, Batch<C>>>();
  for (const one of pending) {
    const { rows, request: { group: { query: { table, reader } } } } = one;
    const byRows = byReader.get(reader) ?? new Map<string, Batch<C>>();
    byReader.set(reader, byRows);
    const key = JSON.stringify([table.name, ...rows.map(({ id }) => id)]);
    const batch = byRows.get(key) ?? { table, reader, rows, pending: [] };
    batch.pending.push(one);
    byRows.set(key, batch);
  }
  return [...byReader.values()].flatMap((byRows) => [...byRows.values()]);
}

/** Replaces `after` by the current row, because the logged row may be hidden by now. */
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

/** Returns the requests with results that may be wrong: their related rows changed after `to`. */
async function movedSince<C extends RowsToEvaluate>(
  pending: readonly PendingRows<C>[],
  { log, matcher, to }: EvaluationContext,
): Promise<ReadonlySet<PendingRows<C>>> {
  const moved = new Set<PendingRows<C>>();
  let from: Position | ChangeLogStep = to;
  for (let reads = 0; reads < maxReads; reads++) {
    const step: ChangeLogStep | null = await log.next(from);
    if (step === null) break;
    for (const change of step.changes) {
      for (const one of pending) {
        const { filter } = one.request.group.query;
        if (mayAffectFilter(change, filter, matcher)) moved.add(one);
      }
    }
    if (step.to !== null && step.changes.length === 0) return moved;
    from = step.to ?? step;
  }
  // There are too many changes to read them all, so every request could be affected.
  return new Set(pending);
}

const maxReads = 5;

function decideRows<C extends RowsToEvaluate>(
  { request, rows, images }: PendingRows<C>,
  readings: ReadingsById,
  to: Position,
): readonly RowEvaluation[] {
  const { held, isRepeat } = request;
  const passed = (image: RowImage | null) => image !== null && images.get(image) === true;
  return rows.flatMap(({ id, was: isHeld, rowChange: { before, between, after } }) => {
    const reading = readings.get(id);
    if (reading === undefined) return [];
    const { rowChange, passes, at } = reading;
    // A resuming client may have received the row but not its removal, so the removal is sent.
    const was = isHeld ??
      (passed(before) || (isRepeat && !passes && [...between, after].some(passed)));
    // An earlier stream of the client may have sent a later change, so the client may hold the row.
    const isUnknown = isRepeat && isHeld === null && !was && !passes;
    if (!isUnknown) held.set(id, passes, { at, to });
    return [{ id, rowChange, was, passes }];
  });
}
