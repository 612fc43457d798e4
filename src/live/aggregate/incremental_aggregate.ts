import { type AggregateGroup, exactValue, groupValue } from "../../db/aggregate_groups.ts";
import type { DecideInMemory } from "../../filter/match/decide_in_memory.ts";
import { valueOf } from "../../filter/match/matches.ts";
import { averageDigits } from "../../plan/group_table.ts";
import type { ColumnMetric, Metric, OrderKey } from "../../plan/plan.ts";
import { unreachable } from "../../problem/unreachable.ts";
import { fitsKind } from "../../schema/fits_kind.ts";
import { kindOf } from "../../schema/kinds.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { valueId } from "../../schema/value_id.ts";
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
 * Groups of rows in memory: read once, and maintained by the transitions of rows. Where the result
 * could differ from the database, it is null.
 */
export class IncrementalAggregate {
  readonly #plan: MaintenancePlan;
  readonly #having: DecideInMemory;
  readonly #entries = new Map<string, Entry>();

  private constructor(plan: MaintenancePlan, having: DecideInMemory) {
    this.#plan = plan;
    this.#having = having;
  }

  /** Begins with the groups that a plan has read; null where memory cannot maintain them. */
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
      // Two groups of the database can decode alike, as with texts that are not UTF-8.
      if (entry === null || incremental.#entries.has(id)) return null;
      incremental.#entries.set(id, entry);
    }
    return incremental;
  }

  /** Applies a transition; false where memory cannot, and then this object is no longer usable. */
  apply({ kind, rowChange: { before, after } }: Transition): boolean {
    const from = kind === "added" ? null : before?.row ?? null;
    const to = kind === "removed" ? null : after?.row ?? null;
    const left = from === null ? null : this.#keyOf(from);
    const right = to === null ? null : this.#keyOf(to);
    if (left === undefined || right === undefined) return false;
    const stays = left?.id === right?.id;
    // The added value is counted first, so that an extreme that grows is never missing.
    return (to === null || right === null || this.#count(to, 1, right, stays ? from : null)) &&
      (from === null || left === null || this.#count(from, -1, left, stays ? to : null));
  }

  /** The groups in order; null where memory cannot give them. */
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

  /** The group of a row; undefined where memory does not know it. */
  #keyOf(row: Row): RowGroupKey | undefined {
    const columns = this.#plan.requested.keys.map(({ column }) => column);
    const key = columns.map((column) => knownValue(row, column));
    return key.includes(undefined) ? undefined : { key, id: idOf(key, columns) };
  }

  /** Adds a row to its group or subtracts it, without the values that it shares with `other`. */
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
    // Where a key and a metric have the same name, it means the metric.
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

/** The maintained values of a group. */
interface Entry {
  readonly key: readonly unknown[];
  /** Its index among the groups that were read, in the order of their keys. */
  readonly rank: number;
  rows: number;
  /** Of each summed column. */
  readonly totals: Total[];
  /** Null where there is no value. */
  readonly extremes: unknown[];
  /** The group as it is shown; null where that is to be computed again. */
  shown: Shown | null;
}

interface Total {
  sum: ExactDecimal;
  /** The number of values in the sum. */
  values: number;
}

interface Shown {
  readonly group: AggregateGroup;
  /** By the columns of having and order. */
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
  readonly entry: Entry;
  readonly passes: boolean;
}

/** A metric in wire form, and as having and order compare it. */
interface Result {
  readonly shown: unknown;
  readonly compared: unknown;
}

const nothing: ExactDecimal = Object.freeze({ units: 0n, scale: 0 });

/** A text that two keys share exactly when they belong to one group. */
function idOf(key: readonly unknown[], columns: readonly ColumnInfo[]): string {
  const ids = columns.map((column, index) => {
    const value = key[index] ?? null;
    return value === null ? null : valueId(value, column);
  });
  return JSON.stringify(ids);
}

/** A value in wire form; undefined where it is not recorded, or not of its kind. */
function knownValue(row: Row, column: ColumnInfo): unknown {
  if (!Object.hasOwn(row, column.name)) return undefined;
  const value = valueOf(row, column);
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

/** Null where the sum is no plain number, such as NaN. */
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

/** False where memory does not know the new values of the group. */
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
    // Only the database knows the next extreme.
    else if (by < 0 && isReached) return false;
  }
  return true;
}

/** Null where memory cannot give every digit. */
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

/** In the order of the database; infinite where one is NULL, which is last in both directions. */
function compareValues(left: unknown, right: unknown, { kind }: ColumnInfo): number {
  const [one, other] = [left ?? null, right ?? null];
  if (one === null || other === null) {
    return one === other ? 0 : one === null ? Infinity : -Infinity;
  }
  return kindOf(kind).compare?.(one, other) ?? 0;
}
