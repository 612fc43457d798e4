import { askAboutImages } from "../db/ask_about_images.ts";
import type { Driver } from "../db/driver.ts";
import type { Filter } from "../filter/filter.ts";
import { matches } from "../filter/match.ts";
import { builtInOperators } from "../filter/operators.ts";
import type { Row, TableInfo } from "../schema/table_info.ts";

/** Decides which rows pass which filters: in memory where that is sure, else by the database. */
export interface Decider {
  /** Whether a row passes; null where only the database can tell. */
  inMemory(filter: Filter, row: Row): boolean | null;
  /** For each row, by the database, whether it passes each filter. One statement. */
  ask(
    table: TableInfo,
    rows: readonly Row[],
    filters: readonly Filter[],
  ): Promise<readonly (readonly boolean[])[]>;
}

/** A decider that asks this database. */
export function createDecider(driver: Driver): Decider {
  const known = new WeakMap<Filter, boolean>();

  function isForMemory(filter: Filter): boolean {
    const decided = known.get(filter) ?? isPlain(filter);
    known.set(filter, decided);
    return decided;
  }

  return {
    inMemory: (filter, row) => isForMemory(filter) ? matches(filter, row) : null,
    ask: (table, rows, filters) =>
      askAboutImages(driver, driver.dialect, {
        table,
        images: rows.map((row) => ({ row })),
        filters,
      }),
  };
}

/** Whether a filter asks nothing but what memory knows to answer as every engine does. */
function isPlain(filter: Filter): boolean {
  switch (filter.kind) {
    case "all":
    case "none":
      return true;
    case "and":
    case "or":
      return filter.terms.every(isPlain);
    case "related":
      return false;
    default:
      return filter.column.foreignType === null && builtInOperators.includes(filter.operator);
  }
}
