import { countFittingValues } from "../plan/cursor.ts";
import type { OffsetPosition, ReadPlan } from "../plan/plan.ts";
import { keysetPosition } from "../plan/order.ts";
import { offsetPositionAfter } from "../plan/reached_position.ts";
import { DatabaseError } from "./database_error.ts";
import type { Connection } from "./driver.ts";
import { type FetchedRows, fetchRows, type RowReader } from "./rows.ts";

/** Pages of a query's rows. Between two pages, the service holds no connection or lock. */
export interface RowPages {
  next(maxRows: number): Promise<RowPage>;
}

export interface RowPage extends FetchedRows {
  readonly isLast: boolean;
}

/** The maximum size of a page with more than one row, in bytes. */
export const maxPageBytes = 1024 * 1024;

/** Reads rows in pages by key. A page with too many bytes is read again with fewer rows. */
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
          if (limit === 1 || !(error instanceof DatabaseError && error.kind === "too-large")) {
            throw error;
          }
        }
      }
    },
  };
}

export function toRowPages({ rows, stored }: FetchedRows): RowPages {
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

/** The position at which a page starts: after a key, or at an offset among rows with equal keys. */
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
  return {
    after: null,
    from: offsetPositionAfter({ stored, columns, order, from }, countFittingValues),
  };
}

/** A row limit that was too high is divided by this. A large number means few more attempts. */
const shrinkage = 8;
