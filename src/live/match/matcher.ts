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

/** Decides which rows pass which filters: in memory where that is sure, else by the database. */
export interface Matcher {
  /** How memory decides a filter; it answers null where only the database can tell. */
  compile(filter: Filter): InMemoryMatcher;
  /** Of which comparisons memory gives the answers of the database. */
  isCertain(comparison: Comparison): boolean;
  /** Whether the order of a table's keys in memory is that of the database. */
  knowsKeyOrder(table: TableInfo): boolean;
  /** For each image, by the database, whether it passes each filter. One statement. */
  evaluateInDatabase(
    table: TableInfo,
    images: readonly RowImage[],
    filters: readonly Filter[],
  ): Promise<readonly (readonly boolean[])[]>;
  /** True for one decision of a thousand, which is to be checked. */
  shouldCheck(): boolean;
  /**
   * Asks the database what memory has decided already. False where they differ: then that kind of
   * comparison is never decided in memory again, and what was compiled must be compiled anew.
   */
  check(table: TableInfo, image: RowImage, filter: Filter): Promise<boolean>;
}

/** A decider that asks this database. */
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
