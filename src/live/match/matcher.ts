import { hasComparableKey } from "../../compile/comparable_key.ts";
import { evaluateFilters } from "../../db/changes/evaluate_filters.ts";
import type { Driver, ReadLimits } from "../../db/driver.ts";
import { createCertifiedComparisons } from "../../filter/match/certified_comparisons.ts";
import {
  comparisonsToCheck,
  createInMemoryMatcher,
  createSampler,
  type InMemoryMatcher,
  mismatchedComparisons,
} from "../../filter/match/in_memory_matcher.ts";
import { type Comparison, type Filter, relatedTerms, termsOnSameRow } from "../../filter/filter.ts";
import { filterWork, type WorkAllowance } from "../../filter/filter_work.ts";
import { columnValue, type RowImage, storedForm } from "../../filter/match/row_matches.ts";
import type { Clock, Runtime } from "../../runtime/runtime.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import { unreachable } from "../../problem/unreachable.ts";

/** Evaluates filters for rows: in memory if this is exact and cheap, otherwise in the database. */
export interface Matcher {
  /** Compiles a filter to a function, which returns null for rows that need the database. */
  compile(filter: Filter): InMemoryMatcher;
  /** Returns true if a comparison always has the same result in memory and in the database. */
  isCertain(comparison: Comparison): boolean;
  /** Returns true if keys of the table have the same order in memory and in the database. */
  knowsKeyOrder(table: TableInfo): boolean;
  hidesRows(table: TableInfo): boolean;
  /** Evaluates each filter for each image. Expensive reads wait in the queue of `identity`. */
  evaluateInDatabase(
    table: TableInfo,
    images: readonly RowImage[],
    filters: readonly Filter[],
    identity: string,
  ): Promise<readonly (readonly boolean[])[]>;
  /** Returns true for one in a thousand evaluations in memory, which {@link check} must verify. */
  shouldCheck(): boolean;
  /** Evaluates again in the database. False if results differed: filters need recompiling. */
  check(table: TableInfo, image: RowImage, filter: Filter): Promise<boolean>;
}

export function createMatcher(
  driver: Driver,
  { random, observe, clock }: Pick<Runtime, "random" | "observe" | "clock">,
  hidesRows: Matcher["hidesRows"] = () => false,
): Matcher {
  const { dialect } = driver;
  const certification = createCertifiedComparisons(dialect);
  const meter = new WorkMeter(clock);
  const evaluateInDatabase: Matcher["evaluateInDatabase"] = (table, images, filters, identity) => {
    const isExpensive = evaluationSteps(images, filters) > burstSteps;
    const connection = isExpensive || filters.some((filter) => relatedTerms(filter).length > 0)
      ? driver.reads(liveReadLimits(identity, maxAnswerBytes, isExpensive))
      : driver;
    return evaluateFilters(connection, dialect, { table, images, filters });
  };
  return {
    compile: (filter) => createInMemoryMatcher(filter, certification, meter),
    isCertain: (comparison) => certification.isCertain(comparison),
    knowsKeyOrder: (table) => hasComparableKey(table, dialect),
    hidesRows,
    evaluateInDatabase,
    shouldCheck: createSampler(random),
    async check(table, image, filter) {
      const decided = comparisonsToCheck(filter, image, certification, meter);
      if (decided.length === 0) return true;
      const comparisons = decided.map(({ comparison }) => comparison);
      const [answers = []] = await evaluateInDatabase(table, [image], comparisons, sharedIdentity);
      const faults = mismatchedComparisons(decided, answers, certification);
      for (const fault of faults) {
        certification.demote(fault);
        const { column, operator: { symbols: [operator] } } = fault;
        observe({ kind: "live_mismatch", table: table.label, column: column.name, operator });
      }
      return faults.length === 0;
    },
  };
}

export function evaluationSteps(
  images: readonly RowImage[],
  filters: readonly Filter[],
): number {
  const work = filters.reduce((sum, filter) => sum + filterWork(filter), 0);
  if (work === 0) return 0;
  return images.reduce((sum, { row }) => sum + work * charactersOf(row), 0);
}

function charactersOf(row: Row): number {
  let characters = 0;
  for (const value of Object.values(row)) if (typeof value === "string") characters += value.length;
  return characters;
}

const maxAnswerBytes = 16 * 1024 * 1024;

/** Lets filters in memory use a tenth of the processor time. The database evaluates the rest. */
export class WorkMeter implements WorkAllowance {
  readonly #clock: Pick<Clock, "elapsedMs">;
  #left = burstSteps;
  #filledAt: number;

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
    this.#filledAt = clock.elapsedMs();
  }

  take(steps: number): boolean {
    if (steps > this.#left) this.#refill();
    if (steps > this.#left) return false;
    this.#left -= steps;
    return true;
  }

  #refill(): void {
    const now = this.#clock.elapsedMs();
    this.#left = Math.min(burstSteps, this.#left + (now - this.#filledAt) * stepsPerMs);
    this.#filledAt = now;
  }
}

/** Steps in a burst. A step on one character takes 0.1 to 3 ns, so a burst takes at most 30 ms. */
export const burstSteps = 10_000_000;

/** Steps per millisecond after a burst: usually a tenth of the time, at most three tenths. */
const stepsPerMs = 100_000;

/** Limits of a live read, which waits in the queue of `identity` because its cost is unknown. */
export function liveReadLimits(identity: string, maxBytes: number, isLong = false): ReadLimits {
  return { identity, signal: unaborted, maxBytes, timeoutMs, isLong };
}

export const sharedIdentity = "live streams";

/** A signal that never aborts: other streams need the result, even if one stream ends. */
const unaborted = new AbortController().signal;
const timeoutMs = 5_000;

/** A bit mask of columns. Above 32 columns, columns share bits, so disjoint sets can overlap. */
export type ColumnMask = number;

export const allColumns: ColumnMask = -1;

export function columnsReadBy(filter: Filter, table: TableInfo): ColumnMask {
  switch (filter.kind) {
    case "all":
    case "none":
      return 0;
    case "and":
    case "or":
    case "not":
      return termsOnSameRow(filter).reduce((bits, term) => bits | columnsReadBy(term, table), 0);
    case "compare":
      return bitAt(table.columns.indexOf(filter.column));
    case "related":
      return allColumns;
    default:
      return unreachable(filter);
  }
}

export function differingColumns(before: Row, after: Row, { columns }: TableInfo): ColumnMask {
  let bits = 0;
  let index = 0;
  for (const column of columns) {
    if (!isSameStored(before, after, column)) bits |= bitAt(index);
    index++;
  }
  return bits;
}

export function isSameStored(before: Row, after: Row, column: ColumnInfo): boolean {
  return Object.is(columnValue(before, column), columnValue(after, column)) &&
    storedForm(before, column) === undefined && storedForm(after, column) === undefined;
}

/** Returns a column's bit. An unknown column (of another table) counts as all columns. */
function bitAt(index: number): ColumnMask {
  return index < 0 ? allColumns : 1 << index % 32;
}
