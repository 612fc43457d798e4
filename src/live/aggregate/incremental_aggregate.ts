import { type AggregateGroup, exactValue, groupValue } from "../../db/aggregate_groups.ts";
import type { InMemoryMatcher } from "../../filter/match/in_memory_matcher.ts";
import { columnValue } from "../../filter/match/row_matches.ts";
import { averageDigits } from "../../plan/aggregate_schema.ts";
import type { ColumnMetric, Metric, OrderKey } from "../../plan/plan.ts";
import { unreachable } from "../../problem/unreachable.ts";
import { fitsKind } from "../../schema/fits_kind.ts";
import { kindOf } from "../../schema/kinds.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { canonicalValueText } from "../../schema/canonical_value.ts";
import {
  addExact,
  divideExact,
  type ExactDecimal,
  parseExact,
  printExact,
} from "../../sql/exact_decimal.ts";
import type { Matcher } from "../match/matcher.ts";
import type { Transition } from "../match/row_change.ts";
import type { MaintenancePlan } from "./maintenance_plan.ts";

/**
 * Groups of rows in memory: what was read of them once, and added to by what happens to the rows.
 * Where it could differ from the database it says that it does not know.
 */
export class IncrementalAggregate {
  readonly #plan: MaintenancePlan;
  readonly #having: InMemoryMatcher;
  readonly #entries = new Map<string, Entry>();

  private constructor(plan: MaintenancePlan, having: InMemoryMatcher) {
    this.#plan = plan;
    this.#having = having;
  }

  /** Begins with what the base of a plan has read; null where memory cannot add to it. */
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
      const entry = fits ? entryOf(group, rank, plan) : null;
      const id = idOf(group.key, columns);
      // Two groups of the database may read alike: of texts that are not UTF-8, say.
      if (entry === null || incremental.#entries.has(id)) return null;
      incremental.#entries.set(id, entry);
    }
    return incremental;
  }

  /** Counts an event; false where memory cannot, and then the tally is of no more use. */
  apply({ kind, rowChange: { before, after } }: Transition): boolean {
    const from = kind === "added" ? null : before?.row ?? null;
    const to = kind === "removed" ? null : after?.row ?? null;
    const left = from === null ? null : this.#keyOf(from);
    const right = to === null ? null : this.#keyOf(to);
    if (left === undefined || right === undefined) return false;
    const stays = left?.id === right?.id;
    // What comes is counted first: then an extreme that becomes a further one leaves no gap.
    return (to === null || right === null || this.#count(to, 1, right, stays ? from : null)) &&
      (from === null || left === null || this.#count(from, -1, left, stays ? to : null));
  }

  /** The answer, in order; null where memory cannot give it. */
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

  /** The group of a row; undefined where memory does not know. */
  #keyOf(row: Row): RowGroupKey | undefined {
    const columns = this.#plan.requested.keys.map(({ column }) => column);
    const key = columns.map((column) => knownValue(row, column));
    return key.includes(undefined) ? undefined : { key, id: idOf(key, columns) };
  }

  /** Adds a row to its group or takes it away, but for what it shares with `other`. */
  #count(row: Row, by: 1 | -1, { key, id }: RowGroupKey, other: Row | null): boolean {
    const { requested: { keys }, base: { limit }, isRanked } = this.#plan;
    const known = this.#entries.get(id);
    if (known === undefined && (by < 0 || isRanked || this.#entries.size >= limit - 1)) {
      return false;
    }
    const entry = known ?? emptyEntry(key, this.#plan);
    this.#entries.set(id, entry);
    entry.rows += by;
    entry.shown = null;
    if (entry.rows > 0 || keys.length === 0) {
      return addRow(entry, row, by, { other, ...this.#plan });
    }
    this.#entries.delete(id);
    return true;
  }

  #show(entry: Entry): Shown | null {
    const { keys, metrics } = this.#plan.requested;
    const values = new Map(keys.map(({ as }, index) => [as, entry.key[index]]));
    const shown: unknown[] = [];
    for (const metric of metrics) {
      const result = resultOf(metric, entry, this.#plan);
      if (result === null) return null;
      shown.push(result.shown);
      values.set(metric.as, result.compared);
    }
    // Where a key is called like a metric, the name means the metric.
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
      const sign = compareValues(left.values.get(column), right.values.get(column), column);
      if (Math.abs(sign) === Infinity) return sign;
      if (sign !== 0) return descending ? -sign : sign;
    }
    return 0;
  }
}

/** The group that a row belongs to. */
interface RowGroupKey {
  readonly id: string;
  readonly key: readonly unknown[];
}

/** What is kept of a group. */
interface Entry {
  readonly key: readonly unknown[];
  /** Where it stood among the groups that were read, by their keys. */
  readonly rank: number;
  rows: number;
  /** Of each summed column. */
  readonly totals: Total[];
  /** Null where there is no value. */
  readonly extremes: unknown[];
  /** What is shown of it; null where that must be made anew. */
  shown: Shown | null;
}

interface Total {
  sum: ExactDecimal;
  /** How many values it is the sum of. */
  values: number;
}

interface Shown {
  readonly group: AggregateGroup;
  /** By the columns that having and order know. */
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
  readonly entry: Entry;
  readonly passes: boolean;
}

/** A metric in wire form, and as having and order see it. */
interface Result {
  readonly shown: unknown;
  readonly compared: unknown;
}

const nothing: ExactDecimal = Object.freeze({ units: 0n, scale: 0 });

/** A text that two keys share exactly when they are of one group. */
function idOf(key: readonly unknown[], columns: readonly ColumnInfo[]): string {
  const ids = columns.map((column, index) => {
    const value = key[index] ?? null;
    return value === null ? null : canonicalValueText(value, column);
  });
  return JSON.stringify(ids);
}

/** A value as a group would show it; undefined where it is not recorded, or none of its kind. */
function knownValue(row: Row, column: ColumnInfo): unknown {
  if (!Object.hasOwn(row, column.name)) return undefined;
  const value = columnValue(row, column);
  return fitsKind(value, column) ? groupValue(value, column) : undefined;
}

function entryOf(
  { key, metrics }: AggregateGroup,
  rank: number,
  plan: MaintenancePlan,
): Entry | null {
  const { summed, extremes } = plan;
  const totals: Total[] = [];
  for (const index of summed.keys()) {
    const total = totalOf(metrics[2 * index + 1], metrics[2 * index + 2]);
    if (total === null) return null;
    totals.push(total);
  }
  const values = metrics.slice(2 * summed.length + 1);
  const fits = extremes.every(({ metric: { column } }, index) => fitsKind(values[index], column));
  return fits
    ? { key, rank, rows: Number(metrics[0]), totals, extremes: [...values], shown: null }
    : null;
}

/** Null where the sum is none of numbers alone. */
function totalOf(sum: unknown, values: unknown): Total | null {
  if (sum === null) return values === 0 ? { sum: nothing, values: 0 } : null;
  const plain = String(sum);
  return /^-?\d+(?:\.\d+)?$/.test(plain)
    ? { sum: parseExact(plain), values: Number(values) }
    : null;
}

function emptyEntry(key: readonly unknown[], { summed, extremes }: MaintenancePlan): Entry {
  return {
    key,
    rank: 0,
    rows: 0,
    totals: summed.map(() => ({ sum: nothing, values: 0 })),
    extremes: extremes.map(() => null),
    shown: null,
  };
}

/** False where memory does not know what the group comes to. */
function addRow(
  entry: Entry,
  row: Row,
  by: 1 | -1,
  { other, summed, extremes }: Pick<MaintenancePlan, "summed" | "extremes"> & { other: Row | null },
): boolean {
  const isShared = ({ name }: ColumnInfo) => other !== null && Object.is(row[name], other[name]);
  for (const [index, column] of summed.entries()) {
    const total = entry.totals[index];
    if (total === undefined || isShared(column)) continue;
    const value = knownValue(row, column);
    if (value === undefined) return false;
    if (value === null) continue;
    const { units, scale } = parseExact(String(value));
    total.sum = addExact(total.sum, { units: units * BigInt(by), scale });
    total.values += by;
  }
  for (const [index, { metric: { column }, compare }] of extremes.entries()) {
    if (isShared(column)) continue;
    const value = knownValue(row, column);
    if (value === undefined) return false;
    if (value === null) continue;
    const current = entry.extremes[index] ?? null;
    const isReached = current === null || compare(value, current) >= 0;
    if (by > 0 && isReached) entry.extremes[index] = value;
    else if (by < 0 && entry.rows === 0) entry.extremes[index] = null;
    // Which value is the next one, only the database knows.
    else if (by < 0 && isReached) return false;
  }
  return true;
}

/** Null where memory cannot give it digit by digit. */
function resultOf(metric: Metric, entry: Entry, plan: MaintenancePlan): Result | null {
  switch (metric.name) {
    case "count":
      return { shown: entry.rows, compared: entry.rows };
    case "sum":
    case "avg":
      return sumOf(metric, entry.totals[plan.summed.indexOf(metric.column)]);
    case "min":
    case "max": {
      const index = plan.extremes.findIndex((extreme) => extreme.metric === metric);
      const value = entry.extremes[index] ?? null;
      return { shown: value, compared: value };
    }
    default:
      return unreachable(metric);
  }
}

function sumOf(metric: ColumnMetric, total: Total | undefined): Result | null {
  if (total === undefined || total.values === 0) return { shown: null, compared: null };
  const { sum, values } = total;
  const isAverage = metric.name === "avg";
  if (!metric.exact) {
    const mean = Number(printExact(sum)) / values;
    return { shown: mean, compared: mean };
  }
  const digits = averageDigits(metric.column);
  // Engines round such sums before they divide.
  if (isAverage && sum.scale > digits) return null;
  const plain = printExact(isAverage ? divideExact(sum, BigInt(values), digits) : sum);
  const shown = exactValue(plain, metric);
  return shown === null ? null : { shown, compared: plain };
}

/** As the database sorts; infinite where one is NULL, which stands last in both directions. */
function compareValues(left: unknown, right: unknown, { kind }: ColumnInfo): number {
  const [one, other] = [left ?? null, right ?? null];
  if (one === null || other === null) {
    return one === other ? 0 : one === null ? Infinity : -Infinity;
  }
  return kindOf(kind).compare?.(one, other) ?? 0;
}
