import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import { noPlaces, noResources } from "../read/related_grants.ts";
import type { Place } from "./body_path.ts";
import type { Resource } from "../define/resource.ts";

/** A row that a body asks for. */
export interface BodyRow {
  readonly place: Place;
  /** What the body tells of it; of a row to find, its key. */
  readonly given: ReadonlyMap<ColumnInfo, unknown>;
  /** The foreign keys that follow from other rows of the body. */
  readonly wires: readonly Wire[];
  /** The rows that stand in it, in the order in which the relations are declared. */
  readonly embedded: readonly EmbeddedRows[];
}

/** A column that takes the value that another row of the body has in `source`. */
export interface Wire {
  readonly column: ColumnInfo;
  readonly from: BodyRow;
  readonly source: ColumnInfo;
}

/** The rows under the name of a relation, in the order of the body. */
export interface EmbeddedRows {
  readonly relation: Relation;
  readonly target: Resource;
  readonly rows: readonly BodyRow[];
}

/** Rows of one table that are created, found by their keys, or put into a link table, together. */
export type RowsStep =
  | {
    readonly kind: "create" | "find";
    readonly resource: Resource;
    readonly rows: readonly BodyRow[];
  }
  | { readonly kind: "link"; readonly table: TableInfo; readonly rows: readonly BodyRow[] };

/** All that a body asks for. */
export interface BodyRows {
  readonly resource: Resource;
  /** What it asks for first of all: the row of a create, the items of a batch. */
  readonly rows: readonly BodyRow[];
  /** In an order in which each row comes after those that it refers to. */
  readonly steps: readonly RowsStep[];
  /** How many rows it holds, embedded ones included. */
  readonly count: number;
}

/** The other resources that rows are created of, each with the first place that asks for one. */
export function createdBy({ resource, steps }: BodyRows): ReadonlyMap<Resource, Place> {
  if (steps.length === 1) return noPlaces;
  const places = new Map<Resource, Place>();
  for (const step of steps) {
    const [first] = step.rows;
    if (step.kind !== "create" || step.resource === resource || first === undefined) continue;
    if (!places.has(step.resource)) places.set(step.resource, first.place);
  }
  return places;
}

/** The resources that rows are looked up in, to be linked. */
export function foundBy({ steps }: BodyRows): ReadonlySet<Resource> {
  if (steps.length === 1) return noResources;
  return new Set(steps.flatMap((step) => step.kind === "find" ? [step.resource] : []));
}
