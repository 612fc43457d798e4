import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import { noPaths, noResources } from "../read/related_grants.ts";
import type { BodyPath } from "./body_path.ts";
import type { Resource } from "../define/resource.ts";

/** A row among the nested rows in the body of a create. */
export interface NestedRow {
  readonly bodyPath: BodyPath;
  /** The values in the body; of a row to find, its key. */
  readonly given: ReadonlyMap<ColumnInfo, unknown>;
  /** The foreign keys that are taken from other rows of the body. */
  readonly foreignKeySources: readonly ForeignKeySource[];
  /** The rows embedded in it, in the order in which the relations are declared. */
  readonly embedded: readonly EmbeddedRows[];
}

/** A column of a nested row that takes the value that another row of the body has in `source`. */
export interface ForeignKeySource {
  readonly column: ColumnInfo;
  readonly from: NestedRow;
  readonly source: ColumnInfo;
}

/** The nested rows embedded under the name of a relation, in the order of the body. */
export interface EmbeddedRows {
  readonly relation: Relation;
  readonly target: Resource;
  readonly rows: readonly NestedRow[];
}

/**
 * A step of nested rows: those of one table that are created, looked up by key, or inserted into a
 * link table together.
 */
export type RowsStep =
  | {
    readonly kind: "create" | "find";
    readonly resource: Resource;
    readonly rows: readonly NestedRow[];
  }
  | { readonly kind: "link"; readonly table: TableInfo; readonly rows: readonly NestedRow[] };

/** All rows in the body of a create, nested ones included, as steps. */
export interface NestedRows {
  readonly resource: Resource;
  /** The top level: the row of a create, the items of a batch. */
  readonly rows: readonly NestedRow[];
  /** In an order in which each row comes after the rows that it refers to. */
  readonly steps: readonly RowsStep[];
}

/** How many nested rows are of the resource itself, with those that exist and are linked. */
export function ownItems({ resource, rows, steps }: NestedRows): number {
  if (steps.length === 1) return rows.length;
  return steps.reduce((count, step) => {
    const isOwn = step.kind === "find" || step.kind === "create" && step.resource === resource;
    return isOwn ? count + step.rows.length : count;
  }, 0);
}

/** How many nested rows are created of each other resource, link tables included. */
export function embeddedItems({ resource, steps }: NestedRows): ReadonlyMap<Resource, number> {
  const counts = new Map<Resource, number>();
  if (steps.length === 1) return counts;
  for (const step of steps) {
    if (step.kind !== "create" || step.resource === resource) continue;
    counts.set(step.resource, (counts.get(step.resource) ?? 0) + step.rows.length);
  }
  return counts;
}

/** The other resources that nested rows are created of, each with the path of its first row. */
export function createdResources({ resource, steps }: NestedRows): ReadonlyMap<Resource, BodyPath> {
  if (steps.length === 1) return noPaths;
  const bodyPaths = new Map<Resource, BodyPath>();
  for (const step of steps) {
    const [first] = step.rows;
    if (step.kind !== "create" || step.resource === resource || first === undefined) continue;
    if (!bodyPaths.has(step.resource)) bodyPaths.set(step.resource, first.bodyPath);
  }
  return bodyPaths;
}

/** The resources in which nested rows to link are looked up. */
export function lookedUpResources({ steps }: NestedRows): ReadonlySet<Resource> {
  if (steps.length === 1) return noResources;
  return new Set(steps.flatMap((step) => step.kind === "find" ? [step.resource] : []));
}
