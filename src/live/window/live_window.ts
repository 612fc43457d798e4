import {
  coversPosition,
  logPositionOrdinal,
  type Position,
  printLogPosition,
} from "../../db/changes/log_position.ts";
import { type Key, keyOf } from "../../plan/key.ts";
import { printOrder } from "../../plan/order.ts";
import { Problem } from "../../problem/problem.ts";
import { writeJson } from "../../schema/exact_json.ts";
import type { Row } from "../../schema/table_info.ts";
import { compareOrderValues } from "../aggregate/incremental_aggregate.ts";
import { recordedJsonValue } from "../aggregate/maintained_group.ts";
import { eventRowId } from "../dispatch/server_sent_events.ts";
import type { WindowQuery } from "../live_view.ts";
import { liveReadLimits } from "../match/matcher.ts";
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

/** The first rows of a list, read again after each change of a row that might be among them. */
export class LiveWindow extends SharedResult<WindowReading> {
  readonly #options: LiveWindowOptions;
  readonly #isComparable: boolean;
  #rows: WindowRows = new Map();
  #state: WindowState | null = null;
  /** The changes since the beginning of the current read, by the log positions after them. */
  #received: (readonly [readonly Transition[], Position | null])[] = [];

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
    if (!this.isExact || this.#areOutside(transitions)) return;
    this.isExact = false;
    this.readIn(0);
  }

  override doubt(rowChange: RowChange): void {
    const kind = rowChange.after === null ? "removed" : "changed";
    if (!this.isExact || !this.#areOutside([{ kind, rowChange }])) this.outdate();
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
    const { rows: cells, position } = await log.readAt(statement, limits);
    const rows = reader.toRows(cells, table.columns);
    const items: Row[] = [];
    // With many related rows, the view presents only the first rows of its argument.
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
    this.isExact = later.every(([changes, to]) => to !== null && this.#areOutside(changes));
    // The position of a read without rows can be older than the read.
    const isNewer = this.shownAt === null || coversPosition(position, this.shownAt);
    this.#publish(isNewer ? position : this.shownAt ?? position);
  }

  /** Returns true if the rows were outside of the window before the changes, and certainly stay. */
  #areOutside(transitions: readonly Transition[]): boolean {
    return transitions.every(({ kind, rowChange }) => {
      if (this.#rows.has(this.#idOf(rowChangeKey(rowChange, this.query.table)))) return false;
      const { after, changed } = rowChange;
      return kind === "removed" || after === null || changed === 0 || this.#isAfterEnd(after.row);
    });
  }

  /** Returns true if a row certainly follows the last row of a full window. */
  #isAfterEnd(row: Row): boolean {
    const { window } = this.#options;
    const order = this.#orderOf(row);
    const last = [...this.#rows.values()].at(-1)?.order;
    if (last === undefined || this.#rows.size < window.limit || !this.#isComparable) return false;
    if (order.includes(undefined) || last.includes(undefined)) return false;
    const signs = window.order.map((key, index) =>
      compareOrderValues(order[index], last[index], key)
    );
    return (signs.find((sign) => sign !== 0) ?? 0) > 0;
  }

  #orderOf(row: Row): readonly unknown[] {
    return this.#options.window.order.map(({ column }) => recordedJsonValue(row, column));
  }

  #idOf(key: Key): string {
    return writeJson(eventRowId(key, this.query));
  }

  #publish(position: Position): void {
    this.shownAt = position;
    const rows = this.#rows;
    const { resumeTokens, limits: { maxEventBytes } } = this.context;
    if (rows.values().reduce((sum, { json }) => sum + json.length, 0) > maxEventBytes) {
      return this.fail(tooLarge());
    }
    if (this.#state?.hasRows(rows) === true) return;
    const { window: { limit }, query, key } = this.#options;
    const digest = `${resumeTokens.digestOf(query)} ${key}`;
    const token = resumeTokens.create(printLogPosition(position), digest);
    const seq = logPositionOrdinal(position);
    this.#state = new WindowState({ rows, limit, seq, token });
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

function tooLarge(): Problem {
  return new Problem("query-too-expensive", "Cannot follow the list: its rows are too large");
}
