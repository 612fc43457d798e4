import { hasComparableKey } from "../../compile/comparable_key.ts";
import { evaluateFilters } from "../../db/changes/evaluate_filters.ts";
import type { Driver } from "../../db/driver.ts";
import { createCertifiedComparisons } from "../../filter/match/certified_comparisons.ts";
import {
  createInMemoryMatcher,
  type InMemoryMatcher,
} from "../../filter/match/in_memory_matcher.ts";
import type { Comparison, Filter } from "../../filter/filter.ts";
import type { RowImage } from "../../filter/match/row_image.ts";
import {
  comparisonsToCheck,
  createSampler,
  mismatchedComparisons,
} from "../../filter/match/shadow_check.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";

/**
 * The matcher of rows and filters for live streams: decides in memory where that is certified, else
 * in the database.
 */
export interface Matcher {
  /** Compiles a filter for memory, which returns null where only the database can decide. */
  compile(filter: Filter): InMemoryMatcher;
  /** Whether memory evaluates a comparison as the database does. */
  isCertain(comparison: Comparison): boolean;
  /** Whether memory orders the keys of a table as the database does. */
  knowsKeyOrder(table: TableInfo): boolean;
  /** Whether each image passes each filter, by one statement. */
  evaluateInDatabase(
    table: TableInfo,
    images: readonly RowImage[],
    filters: readonly Filter[],
  ): Promise<readonly (readonly boolean[])[]>;
  /** True for one decision in a thousand, which is to be checked. */
  shouldCheck(): boolean;
  /**
   * Evaluates in the database what memory has decided. False where they differ: then that kind of
   * comparison is never decided in memory again, and all filters must be compiled again.
   */
  check(table: TableInfo, image: RowImage, filter: Filter): Promise<boolean>;
}

/** Creates the matcher of rows and filters over one database. */
export function createMatcher(
  driver: Driver,
  { random, observe }: Pick<Runtime, "random" | "observe">,
): Matcher {
  const { dialect } = driver;
  const certification = createCertifiedComparisons(dialect);
  const evaluateInDatabase: Matcher["evaluateInDatabase"] = (table, images, filters) =>
    evaluateFilters(driver, dialect, { table, images, filters });
  return {
    compile: (filter) => createInMemoryMatcher(filter, certification),
    isCertain: (comparison) => certification.isCertain(comparison),
    knowsKeyOrder: (table) => hasComparableKey(table, dialect),
    evaluateInDatabase,
    shouldCheck: createSampler(random),
    async check(table, image, filter) {
      const deferred = comparisonsToCheck(filter, image, certification);
      if (deferred.length === 0) return true;
      const [answers = []] = await evaluateInDatabase(table, [image], deferred);
      const faults = mismatchedComparisons(deferred, image, answers, certification);
      for (const fault of faults) {
        certification.demote(fault);
        const { column, operator: { symbols: [operator] } } = fault;
        observe({ kind: "live_mismatch", table: table.name, column: column.name, operator });
      }
      return faults.length === 0;
    },
  };
}
