import type { Resource } from "../model/resource.ts";

export function defaultMaxFields(
  { table, batch, relations, nestedWrites }: Pick<
    Resource,
    "table" | "batch" | "relations" | "nestedWrites"
  >,
): number {
  const items = Math.max(batch.create, batch.update, batch.replace, batch.delete);
  // In addition to its columns, an item can contain its precondition and the names of relations.
  const ofItems = items * (table.columns.length + relations.size + 1);
  const widths = [...relations.values()].map(({ target }) => target.columns.length);
  const ofEmbedded = nestedWrites ? batch.create * maxEmbeddedPerItem * Math.max(0, ...widths) : 0;
  return Math.max(least, ofItems + ofEmbedded);
}

/** The default is at least this: JSON documents and inputs of procedures can have many fields. */
const least = 20_000;

export const maxEmbeddedPerItem = 10;
