import {
  coversPosition,
  logPositionOrdinal,
  type Position,
  printLogPosition,
} from "../../db/changes/log_position.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { type Key, keyOf } from "../../plan/key.ts";
import { printOrder } from "../../plan/order.ts";
import { Problem } from "../../problem/problem.ts";
import { writeJson } from "../../schema/exact_json.ts";
import type { Row } from "../../schema/table_info.ts";
import { compareOrderValues } from "../aggregate/incremental_aggregate.ts";
import { recordedJsonValue } from "../aggregate/maintained_group.ts";
import { eventRowId } from "../dispatch/server_sent_events.ts";
import type { WindowQuery } from "../live_view.ts";
import { isSameStored, liveReadLimits } from "../match/matcher.ts";
import { type RowChange, rowChangeKey, type Transition } from "../match/row_change.ts";
import type { ResultQuery } from "../result/result_stream.ts";
import {
  type ResultFrame,
  SharedResult,
  type SharedResultOptions,
} from "../result/shared_result.ts";
import type { SubscribeRequest } from "../stream/stream_request.ts";
import type { StreamContext } from "../stream_context.ts";
import { type WindowRow, type WindowRows, WindowState } from "./window_state.ts";

interface LiveWindowOptions extends SharedResultOptions {
  readonly window: WindowQuery;
  readonly key: string;
}

interface WindowReading {
  readonly position: Position;
  readonly rows: WindowRows;
}

/** Keeps the first rows of a list. Reads them again if only the database can apply a change. */
export class LiveWindow extends SharedResult<WindowReading> {
  readonly #options: LiveWindowOptions;
  readonly #isComparable: boolean;
  #rows: WindowRows = new Map();
  #state: WindowState | null = null;
  /** False while the rows contain only a part of the changes of one log read. */
  #isShown = true;
  /** The changes since the current read began, each list with the log position after it. */
  #received: (readonly [readonly Transition[], Position | null])[] = [];
  /** Ids that clients chose for writes since the last published state, by row id as JSON. */
  #names = new Map<string, string>();

  constructor(context: StreamContext, options: LiveWindowOptions) {
    super(context, options, { semaphore: context.semaphore, coalesceMs: 0 });
    this.#options = options;
    const { dialect } = this.query.reader;
    this.#isComparable = options.window.order.every(({ column }) =>
      dialect.comparesAsMemory(column) === "wholly"
    );
    void this.read();
  }

  override frameAfter(sent: unknown): ResultFrame | null {
    const state = this.#state;
    if (state === null || sent === state) return null;
    const known = sent instanceof WindowState || typeof sent === "string" ? sent : null;
    return [state.bytesAfter(known), state];
  }

  override receive(transitions: readonly Transition[], to: Position | null): void {
    if (this.isReading && this.#received.push([transitions, to]) > maxReceived) this.outdate();
    this.#name(transitions);
    if (!this.isExact) return;
    this.#apply(transitions, to);
    if (!this.isExact) this.readIn(0);
  }

  override doubt(rowChange: RowChange): void {
    const transition = { kind: "changed", rowChange } as const;
    if (!this.isExact || this.#rowsAfter(this.#rows, transition) !== this.#rows) this.outdate();
  }

  protected override outdate(): void {
    if (this.isReading) this.#received = [[[], null]];
    super.outdate();
  }

  protected override async fetch(): Promise<WindowReading> {
    const { log, limits: { queryTimeoutMs: timeoutMs, maxEventBytes } } = this.context;
    const { table, reader, view, filter: where } = this.query;
    this.#received = [];
    const statement = reader.compile({
      ...{ kind: "read", table, columns: table.columns, where, after: null },
      ...this.#options.window,
    });
    const limits = { ...liveReadLimits(this.identity, 2 * maxEventBytes), timeoutMs };
    const { rows: cells, position } = await log.readAt(statement, limits).catch((error) => {
      const isTooLarge = error instanceof DatabaseError && error.kind === "too-large";
      throw isTooLarge ? tooLarge(maxEventBytes) : error;
    });
    const rows = reader.toRows(cells, table.columns);
    const items: Row[] = [];
    // With many related rows, one call presents only the first rows, so calls repeat for the rest.
    while (items.length < rows.length) {
      items.push(...await view.present(rows.slice(items.length), this.identity));
    }
    const entries = rows.map((row, index): [string, WindowRow] => {
      const { [index]: item = {} } = items;
      const shown = { json: writeJson(item), order: this.#orderOf(row) };
      return [this.#idOf(keyOf(row, table)), shown];
    });
    return { position, rows: new Map(entries) };
  }

  protected override adopt({ rows, position }: WindowReading): void {
    const later = this.#received.filter(([, to]) => to === null || !coversPosition(position, to));
    this.#received = [];
    this.#rows = rows;
    // A read that returns no rows can have an older position than the rows already shown.
    const isNewer = this.shownAt === null || coversPosition(position, this.shownAt);
    this.#publish(isNewer ? position : this.shownAt ?? position);
    this.isExact = true;
    for (const [changes, to] of later) {
      this.#name(changes);
      this.isExact &&= to !== null;
      if (this.isExact) this.#apply(changes, to);
    }
  }

  #apply(transitions: readonly Transition[], to: Position | null): void {
    for (const transition of transitions) {
      const rows = this.#rowsAfter(this.#rows, transition);
      this.isExact = rows !== null;
      if (rows === null) return;
      this.#isShown &&= rows === this.#rows;
      this.#rows = rows;
    }
    if (to === null) return;
    if (!this.#isShown) this.#publish(to);
    this.#names.clear();
  }

  #name(transitions: readonly Transition[]): void {
    for (const { rowChange } of transitions) {
      if (rowChange.optimisticId === null || this.#names.size > maxReceived) continue;
      const id = this.#idOf(rowChangeKey(rowChange, this.query.table));
      this.#names.set(id, rowChange.optimisticId);
    }
  }

  /** Returns the rows after a change, or null if only the database knows them. */
  #rowsAfter(rows: WindowRows, { kind, rowChange }: Transition): WindowRows | null {
    const { window: { limit, order: keys } } = this.#options;
    const id = this.#idOf(rowChangeKey(rowChange, this.query.table));
    const known = rows.get(id);
    const isFull = rows.size >= limit;
    const { before, after, changed } = rowChange;
    if (kind === "removed" || after === null || (known === undefined && changed === 0)) {
      if (known === undefined) return rows;
      return isFull ? null : new Map([...rows].filter(([other]) => other !== id));
    }
    const isInPlace = known !== undefined && before !== null &&
      keys.every(({ column }) => isSameStored(before.row, after.row, column));
    if (isInPlace) {
      const json = this.#jsonOf(after.row);
      return json === null ? null : new Map(rows).set(id, { ...known, json });
    }
    const order = this.#orderOf(after.row);
    const last = [...rows.values()].at(-1);
    const signAtEnd = last === undefined ? 0 : this.#compare(order, last.order);
    // Rows that are not in memory can precede a row that sorts after the last row of the window.
    if (isFull && signAtEnd > 0) return known === undefined ? rows : null;
    const json = Number.isNaN(signAtEnd) ? null : this.#jsonOf(after.row);
    if (json === null) return null;
    const entries = [...rows].filter(([other]) => other !== id);
    const signs = entries.map(([, other]) => this.#compare(order, other.order));
    if (signs.includes(NaN)) return null;
    const place = signs.findIndex((sign) => sign < 0);
    entries.splice(place < 0 ? entries.length : place, 0, [id, { json, order }]);
    return new Map(entries.slice(0, limit));
  }

  /** Compares two rows as the database does; NaN if only the database can. */
  #compare(order: WindowRow["order"], other: WindowRow["order"]): number {
    if (!this.#isComparable || order.includes(undefined) || other.includes(undefined)) return NaN;
    const signs = this.#options.window.order.map((key, index) =>
      compareOrderValues(order[index], other[index], key)
    );
    return signs.find((sign) => sign !== 0) ?? 0;
  }

  /** Returns a recorded row as JSON for clients, or null if only the database knows all values. */
  #jsonOf(row: Row): string | null {
    const { table: { columns }, view } = this.query;
    if (view.shown.length > 0 || columns.some(({ name }) => !Object.hasOwn(row, name))) return null;
    try {
      const items = view.present([row], this.identity);
      return items instanceof Promise ? null : writeJson(items[0] ?? {});
    } catch {
      // Null causes a read of the database. That read meets the same error and ends the streams.
      return null;
    }
  }

  #orderOf(row: Row): readonly unknown[] {
    return this.#options.window.order.map(({ column }) => recordedJsonValue(row, column));
  }

  #idOf(key: Key): string {
    return writeJson(eventRowId(key, this.query));
  }

  #publish(position: Position): void {
    this.shownAt = position;
    this.#isShown = true;
    const rows = this.#rows;
    const names = this.#names;
    this.#names = new Map();
    const { resumeTokens, limits: { maxEventBytes } } = this.context;
    if (rows.values().reduce((sum, { json }) => sum + json.length, 0) > maxEventBytes) {
      return this.fail(tooLarge(maxEventBytes));
    }
    if (this.#state?.hasRows(rows) === true) return;
    const { window: { limit }, query, key } = this.#options;
    const digest = `${resumeTokens.digestOf(query)} ${key}`;
    const token = resumeTokens.create(printLogPosition(position), digest);
    const seq = logPositionOrdinal(position);
    this.#state = new WindowState({ rows, names, limit, seq, token });
    void this.showAll();
  }
}

const maxReceived = 500;

export function windowQuery(
  context: StreamContext,
  { resumeFrom }: SubscribeRequest,
  window: WindowQuery,
): ResultQuery {
  const key = `${window.limit} ${printOrder(window.order)}`;
  const create = (shared: SharedResultOptions) =>
    new LiveWindow(context, { ...shared, window, key });
  return { key, sent: resumeFrom, create };
}

function tooLarge(maxBytes: number): Problem {
  return new Problem(
    "query-too-expensive",
    `Cannot follow the list: its rows have more than ${maxBytes / 2 ** 20} MiB. Use a smaller ` +
      "limit, or select fewer fields",
  );
}
