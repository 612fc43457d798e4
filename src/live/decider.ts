import type { Driver } from "../db/driver.ts";
import type { Filter } from "../filter/filter.ts";
import { matches } from "../filter/match.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { ColumnInfo, Row, TableInfo } from "../schema/table_info.ts";

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

/** Decides in memory, but for what walks to other tables. */
export function createDecider(driver: Driver, _runtime: Pick<Runtime, "observe" | "random">) {
  const decider: Decider = {
    inMemory: (filter, row) => walks(filter) ? null : matches(filter, row),
    ask() {
      return Promise.reject(new Error(`Cannot ask ${driver.label} about images yet`));
    },
  };
  return {
    decider,
    mayIndex: (column: ColumnInfo) => column.foreignType === null,
    knowsKeyOrder: (table: TableInfo) => table.own,
  };
}

function walks(filter: Filter): boolean {
  if (filter.kind === "and" || filter.kind === "or") return filter.terms.some(walks);
  return filter.kind === "related";
}
