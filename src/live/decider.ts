import type { Filter } from "../filter/filter.ts";
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
