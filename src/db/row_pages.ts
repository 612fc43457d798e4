import type { ReadPlan } from "../plan/plan.ts";
import { keysetPosition } from "../plan/order.ts";
import type { Connection } from "./driver.ts";
import { type FetchedRows, fetchRows, type RowReader } from "./rows.ts";

/** A read that is done by and by. Between two pages it holds nothing: no connection, no lock. */
export interface RowPages {
  /** The rows behind those of the last call, at most `most`; fewer only where they end. */
  next(most: number): Promise<FetchedRows>;
}

/**
 * Walks through the rows of a plan, each page a seek to the position behind the one before: every
 * row that does not change meanwhile is met exactly once.
 */
export function rowPages(connection: Connection, plan: ReadPlan, reader: RowReader): RowPages {
  let { after } = plan;
  return {
    async next(most) {
      const page = await fetchRows(connection, { ...plan, after, limit: most }, reader);
      const last = page.stored.at(-1);
      if (last !== undefined) after = keysetPosition(last, plan.columns, plan.order);
      return page;
    },
  };
}
