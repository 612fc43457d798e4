import { fittingValues } from "../plan/cursor.ts";
import type { OffsetPosition, ReadPlan } from "../plan/plan.ts";
import { keysetPosition } from "../plan/order.ts";
import { offsetAfter } from "../plan/reached_position.ts";
import { DatabaseError } from "./database_error.ts";
import type { Connection } from "./driver.ts";
import { type FetchedRows, fetchRows, type RowReader } from "./rows.ts";

/** The rows of a plan, page by page. Between two pages it holds nothing: no connection, no lock. */
export interface RowPages {
  /** The rows after those of the last call, at most `maxRows`. */
  next(maxRows: number): Promise<RowPage>;
}

/** One page of the rows of a plan. */
export interface RowPage extends FetchedRows {
  /** True if no rows follow. */
  readonly isLast: boolean;
}

/** The most bytes of a page that has more than one row. */
export const maxPageBytes = 1024 * 1024;

/**
 * Reads the rows of a plan in pages, each a seek to the position after the last row of the page
 * before: a row that does not change during the read is in exactly one page. A page whose rows have
 * too many bytes is read again with fewer of them; a row of any size is a page.
 */
export function rowPages(
  readsWithin: (maxBytes: number) => Connection,
  plan: ReadPlan,
  reader: RowReader,
): RowPages {
  let position = positionOf(plan);

  async function read(limit: number): Promise<RowPage> {
    const connection = readsWithin(limit === 1 ? Number.MAX_SAFE_INTEGER : maxPageBytes);
    const page = await fetchRows(connection, { ...plan, ...position, limit }, reader);
    position = positionAfter(page.stored, { ...plan, ...position });
    return { ...page, isLast: page.rows.length < limit };
  }

  return {
    async next(maxRows) {
      for (let limit = maxRows;; limit = Math.ceil(limit / shrinkage)) {
        try {
          return await read(limit);
        } catch (error) {
          if (limit === 1 || !isTooLarge(error)) throw error;
        }
      }
    },
  };
}

/** The pages of rows that were read already. */
export function pagesOfRows({ rows, stored }: FetchedRows): RowPages {
  let at = 0;
  return {
    next(maxRows) {
      const [start, end] = [at, at += maxRows];
      const isLast = end >= rows.length;
      const page = { rows: rows.slice(start, end), stored: stored.slice(start, end), isLast };
      return Promise.resolve(page);
    },
  };
}

/** Where a plan continues: after the row of a position, or among rows that may be equal. */
interface PlanPosition extends Pick<ReadPlan, "after"> {
  readonly from?: OffsetPosition;
}

function positionOf({ after, from }: ReadPlan): PlanPosition {
  return from === undefined ? { after } : { after, from };
}

function positionAfter(stored: FetchedRows["stored"], plan: ReadPlan): PlanPosition {
  const { columns, order, from } = plan;
  const last = stored.at(-1);
  if (last === undefined) return positionOf(plan);
  if (from === undefined) return { after: keysetPosition(last, columns, order) };
  return { after: null, from: offsetAfter({ stored, columns, order, from }, fittingValues) };
}

/** A power of two, as the sizes of pages: each size is a statement of its own. */
const shrinkage = 8;

function isTooLarge(error: unknown): boolean {
  return error instanceof DatabaseError && error.kind === "too-large";
}
