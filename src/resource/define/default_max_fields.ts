import type { Relations } from "../../schema/relation.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { BatchPolicy } from "../model/resource.ts";

/** What the bodies of a resource hold at most. */
export interface LargestBodies {
  readonly table: TableInfo;
  readonly batch: BatchPolicy;
  readonly relations: Relations;
  readonly nestedWrites: boolean;
}

/**
 * How many fields a body may have unless it is configured: as many as the largest batch with a value
 * in every column, and every row that may be embedded in it.
 */
export function defaultMaxFields(bodies: LargestBodies): number {
  const { table, batch, relations, nestedWrites } = bodies;
  const items = Math.max(batch.create, batch.update, batch.replace, batch.delete);
  // Beside its columns an item has its precondition, or the names of its relations.
  const ofItems = items * (table.columns.length + relations.size + 1);
  const widths = [...relations.values()].map(({ target }) => target.columns.length);
  const ofEmbedded = nestedWrites ? batch.create * embeddedPerItem * Math.max(0, ...widths) : 0;
  return Math.max(least, ofItems + ofEmbedded);
}

/** For documents in columns of json, and for procedures. */
const least = 20_000;

/** A body may embed this many rows for each item that a batch may hold. */
export const embeddedPerItem = 10;
