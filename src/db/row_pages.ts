import type { ReadPlan } from "../plan/plan.ts";
import { keysetPosition } from "../plan/order.ts";
import type { Connection } from "./driver.ts";
import { type FetchedRows, fetchRows, type RowReader } from "./rows.ts";

/** The rows of a plan, page by page. Between two pages it holds nothing: no connection, no lock. */
export interface RowPages {
  /** The rows after those of the last call, at most `maxRows`; fewer only at the end. */
  next(maxRows: number): Promise<FetchedRows>;
}

/**
 * Reads the rows of a plan in pages, each a seek to the position after the last row of the page
 * before: a row that does not change during the read is in exactly one page.
 */
export function rowPages(connection: Connection, plan: ReadPlan, reader: RowReader): RowPages {
  let { after } = plan;
  return {
    async next(maxRows) {
      const page = await fetchRows(connection, { ...plan, after, limit: maxRows }, reader);
      const last = page.stored.at(-1);
      if (last !== undefined) after = keysetPosition(last, plan.columns, plan.order);
      return page;
    },
  };
}
