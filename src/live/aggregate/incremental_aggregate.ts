import type { AggregateGroup } from "../../db/aggregate_groups.ts";
import type { InMemoryMatcher } from "../../filter/match/in_memory_matcher.ts";
import type { AggregatePlan, OrderKey } from "../../plan/plan.ts";
import { fitsKind } from "../../schema/kinds/fits_kind.ts";
import { kinds } from "../../schema/kind_of.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { canonicalValueText } from "../../schema/exact_json.ts";
import type { Matcher } from "../match/matcher.ts";
import type { Transition } from "../match/row_change.ts";
import {
  addRow,
  emptyGroup,
  type MaintainedGroup,
  type MaintenancePlan,
  metricResult,
  recordedJsonValue,
  toMaintainedGroup,
} from "./maintained_group.ts";
import type { AggregateColumns } from "../../plan/aggregate_columns.ts";

/** Keeps an aggregate current from row changes. Reports when the database's result could differ. */
export class IncrementalAggregate {
  readonly #plan: MaintenancePlan;
  readonly #having: InMemoryMatcher;
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  private constructor(plan: MaintenancePlan, having: InMemoryMatcher) {
    this.#plan = plan;
    this.#having = having;
  }

  /** Creates an aggregate from a query's groups; null if they cannot be maintained in memory. */
  static of(
    groups: readonly AggregateGroup[],
    plan: MaintenancePlan,
    matcher: Matcher,
  ): IncrementalAggregate | null {
    if (groups.length >= plan.base.limit) return null;
    const incremental = new IncrementalAggregate(plan, matcher.compile(plan.requested.having));
    const columns = plan.requested.keys.map(({ column }) => column);
    for (const [rank, group] of groups.entries()) {
      const fits = group.key.every((value, index) => {
        const column = columns[index];
        return column !== undefined && fitsKind(value, column);
      });
      const maintained = fits ? toMaintainedGroup(group, rank, plan) : null;
      const id = idOf(group.key, columns);
      // Two groups of the database can have equal keys in JavaScript, e.g. after invalid UTF-8.
      if (maintained === null || incremental.#entries.has(id)) return null;
      const entry = { ...maintained, shown: null, bytes: 0 };
      incremental.#entries.set(id, entry);
      incremental.#measure(id, entry);
    }
    return incremental;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Applies a row change. Returns false if the groups are now wrong and must be read again. */
  apply({ kind, rowChange: { before, after } }: Transition): boolean {
    const from = kind === "added" ? null : before?.row ?? null;
    const to = kind === "removed" ? null : after?.row ?? null;
    const left = from === null ? null : this.#keyOf(from);
    const right = to === null ? null : this.#keyOf(to);
    if (left === undefined || right === undefined) return false;
    const stays = left?.id === right?.id;
    // Adds the new state first: if its value is a new maximum, removing the old one needs no read.
    return (to === null || right === null || this.#count(to, 1, right, stays ? from : null)) &&
      (from === null || left === null || this.#count(from, -1, left, stays ? to : null));
  }

  /** Returns the groups in order, or null if only the database can compute or compare them. */
  groups(): readonly AggregateGroup[] | null {
    const { order, limit } = this.#plan.requested;
    const shown: Shown[] = [];
    for (const entry of this.#entries.values()) {
      entry.shown ??= this.#show(entry);
      if (entry.shown === null) return null;
      if (entry.shown.passes) shown.push(entry.shown);
    }
    return shown.sort((left, right) => this.#compare(left, right, order)).slice(0, limit)
      .map(({ group }) => group);
  }

  /** Returns the group key of a row, or undefined if a key column has no exact value in memory. */
  #keyOf(row: Row): RowGroupKey | undefined {
    const columns = this.#plan.requested.keys.map(({ column }) => column);
    const key = columns.map((column) => recordedJsonValue(row, column));
    return key.includes(undefined) ? undefined : { key, id: idOf(key, columns) };
  }

  /** Adds or removes a row. Skips columns that are equal in `other`, the row's other state. */
  #count(row: Row, by: 1 | -1, { key, id }: RowGroupKey, other: Row | null): boolean {
    const { requested: { keys }, base: { limit }, isRanked } = this.#plan;
    const known = this.#entries.get(id);
    if (known === undefined && (by < 0 || isRanked || this.#entries.size >= limit - 1)) {
      return false;
    }
    const entry = known ?? { ...emptyGroup(key, this.#plan), shown: null, bytes: 0 };
    this.#entries.set(id, entry);
    entry.rows += by;
    entry.shown = null;
    if (entry.rows > 0 || keys.length === 0) {
      const isKnown = addRow(entry, row, by, { other, ...this.#plan });
      this.#measure(id, entry);
      return isKnown;
    }
    this.#entries.delete(id);
    this.#bytes -= entry.bytes;
    return true;
  }

  #measure(id: string, entry: Entry): void {
    const bytes = groupSize(id, entry);
    this.#bytes += bytes - entry.bytes;
    entry.bytes = bytes;
  }

  #show(entry: Entry): Shown | null {
    const { keys, metrics } = this.#plan.requested;
    const values = new Map(keys.map(({ as }, index) => [as, entry.key[index]]));
    const shown: unknown[] = [];
    for (const metric of metrics) {
      const result = metricResult(metric, entry, this.#plan);
      if (result === null) return null;
      shown.push(result.shown);
      values.set(metric.as, result.compared);
    }
    // If a key and a metric have the same name, that name in `having` means the metric.
    const row = Object.fromEntries([...values].map(([{ name }, value]) => [name, value]));
    const passes = this.#having({ row });
    return passes === null
      ? null
      : { group: { key: entry.key, metrics: shown }, values, entry, passes };
  }

  #compare(left: Shown, right: Shown, order: readonly OrderKey[]): number {
    const { requested: { keys }, isRanked } = this.#plan;
    for (const { column, descending } of order) {
      if (isRanked && keys.some(({ as }) => as === column)) {
        return left.entry.rank - right.entry.rank;
      }
      const [one, other] = [left.values.get(column), right.values.get(column)];
      const sign = compareOrderValues(one, other, { column, descending });
      if (sign !== 0) return sign;
    }
    return 0;
  }
}

interface RowGroupKey {
  readonly id: string;
  readonly key: readonly unknown[];
}

interface Entry extends MaintainedGroup {
  shown: Shown | null;
  bytes: number;
}

interface Shown {
  readonly group: AggregateGroup;
  /** The keys and metrics by column, in the form that `having` and the sort order compare. */
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
  readonly entry: Entry;
  readonly passes: boolean;
}

function idOf(key: readonly unknown[], columns: readonly ColumnInfo[]): string {
  const ids = columns.map((column, index) => {
    const value = key[index] ?? null;
    return value === null ? null : canonicalValueText(value, column);
  });
  return JSON.stringify(ids);
}

/** Compares values as the database does. NULL is last in both sort directions. */
export function compareOrderValues(
  left: unknown,
  right: unknown,
  { column: { kind }, descending }: OrderKey,
): number {
  const [one, other] = [left ?? null, right ?? null];
  if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1;
  const sign = kinds[kind].compare?.(one, other) ?? 0;
  return descending ? -sign : sign;
}

/** Estimates a group's bytes in memory. A string uses two bytes for each UTF-16 code unit. */
function groupSize(id: string, { key, totals, extremes }: MaintainedGroup): number {
  const values = sizeOfAll(key) + sizeOfAll(extremes);
  return bytesPerGroup + 2 * id.length + bytesPerTotal * totals.length + values;
}

function sizeOfAll(values: readonly unknown[]): number {
  let bytes = 0;
  for (const value of values) {
    bytes += bytesPerValue + (typeof value === "string" ? 2 * value.length : 0);
  }
  return bytes;
}

// Bytes in the memory of the process, measured with 10,000 groups of short keys.
const bytesPerGroup = 700;
const bytesPerTotal = 250;
const bytesPerValue = 50;

export interface LiveAggregateQuery {
  /** A cache key. Streams whose keys and live queries are equal share one result. */
  readonly key: string;
  /** The plan without its filter, because {@link LiveQuery} contains the filter. */
  readonly plan: Omit<AggregatePlan, "where">;
  readonly groups: AggregateColumns;
  present(groups: readonly AggregateGroup[]): Readonly<Record<string, unknown>>;
}
