import type { Relations } from "../../schema/relation.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { BatchPolicy } from "../model/resource.ts";

/** The properties of a resource that determine the default size limit of its bodies. */
export interface BodySizeFactors {
  readonly table: TableInfo;
  readonly batch: BatchPolicy;
  readonly relations: Relations;
  readonly nestedWrites: boolean;
}

/**
 * Returns the default of the maximum number of fields in a body. The number is sufficient for the
 * largest batch with a value in every column and with every row that may be embedded.
 */
export function defaultMaxFields(bodies: BodySizeFactors): number {
  const { table, batch, relations, nestedWrites } = bodies;
  const items = Math.max(batch.create, batch.update, batch.replace, batch.delete);
  // In addition to its columns, an item can contain its precondition and its relations' names.
  const ofItems = items * (table.columns.length + relations.size + 1);
  const widths = [...relations.values()].map(({ target }) => target.columns.length);
  const ofEmbedded = nestedWrites ? batch.create * maxEmbeddedPerItem * Math.max(0, ...widths) : 0;
  return Math.max(least, ofItems + ofEmbedded);
}

/** The smallest default, in fields, because JSON documents and procedure inputs may be large. */
const least = 20_000;

/** The number of rows that a body may embed for each item that a batch may contain. */
export const maxEmbeddedPerItem = 10;
