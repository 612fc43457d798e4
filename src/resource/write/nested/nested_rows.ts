import type { Relation } from "../../../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../../schema/table_info.ts";
import { noRelatedWrites, noResources } from "../../rights/related_grants.ts";
import type { BodyPath, RelatedWrite } from "../../model/operation.ts";
import type { Resource } from "../../model/resource.ts";

/** A row among the nested rows in the body of a create or an update. */
export interface NestedRow {
  readonly bodyPath: BodyPath;
  /** The values in the body; of a row that exists, its key. */
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
  /** The row exists, and no body may change the column: it must have the value already. */
  readonly isFixed?: boolean;
}

/** The nested rows embedded under the name of a relation, in the order of the body. */
export interface EmbeddedRows {
  readonly relation: Relation;
  readonly target: Resource;
  readonly rows: readonly NestedRow[];
}

/**
 * A step of nested rows: those of one table that are created, looked up by key, or inserted into a
 * link table together; the row that an update names; or changes of which rows are related.
 */
export type RowsStep =
  | {
    readonly kind: "create" | "find" | "update";
    readonly resource: Resource;
    readonly rows: readonly NestedRow[];
  }
  | { readonly kind: "link"; readonly table: TableInfo; readonly rows: readonly NestedRow[] }
  | RelateStep;

/** The step that changes which existing rows one relation leads to. */
export interface RelateStep {
  readonly kind: "relate";
  readonly relation: Relation;
  readonly target: Resource;
  /** The resource whose rows are written: that of the children, or of the links; null for none. */
  readonly written: Resource | null;
  readonly changes: readonly RelationChange[];
}

/** What a body asks of one relation of one row, beside creating rows. */
export interface RelationChange {
  readonly around: NestedRow;
  /** The rows to be related, which exist. */
  readonly connect: readonly NestedRow[];
  /** The rows not to be related any more. */
  readonly disconnect: readonly NestedRow[];
  /** Where the body asks for no others than those to connect, and to create; null if it does not. */
  readonly removesOthers: BodyPath | null;
  /** Where the body creates the only related row, which must not exist then; null elsewhere. */
  readonly requiresNone: BodyPath | null;
}

/** All rows in the body of a create or an update, nested ones included, as steps. */
export interface NestedRows {
  readonly resource: Resource;
  /** What is done with the rows of the top level. */
  readonly access: "create" | "update";
  /** The top level: the row of a create or an update, the items of a batch. */
  readonly rows: readonly NestedRow[];
  /** In an order in which each row comes after the rows that it refers to. */
  readonly steps: readonly RowsStep[];
}

/** How many nested rows are of the resource itself, with those that exist and are linked. */
export function ownItems(body: NestedRows): number {
  const { rows, steps } = body;
  if (steps.length === 1) return rows.length;
  return steps.reduce((count, step) => {
    const isOwn = step.kind === "find" || step.kind === "update" ||
      step.kind === "create" && step.resource === body.resource && body.access === "create";
    if (isOwn) return count + step.rows.length;
    if (step.kind !== "relate" || step.written !== null) return count;
    return count +
      sumOf(step.changes, ({ connect, disconnect }) => connect.length + disconnect.length);
  }, 0);
}

/**
 * What nested rows write beside those of the top level's own access and resource: how many rows of
 * which resources, link tables included, and where the first of them stands.
 */
export function relatedWrites({ resource, access, steps }: NestedRows): readonly RelatedWrite[] {
  if (steps.length === 1) return noRelatedWrites;
  return steps.flatMap((step) => writesOf(step))
    .filter((write) => write.resource !== resource || write.access !== access);
}

function writesOf(step: RowsStep): readonly RelatedWrite[] {
  if (step.kind === "create") {
    const { resource, rows: [first] } = step;
    if (first === undefined) return noRelatedWrites;
    return [{ resource, access: "create", count: step.rows.length, bodyPath: first.bodyPath }];
  }
  if (step.kind !== "relate" || step.written === null) return noRelatedWrites;
  return step.relation.type === "manyToMany"
    ? [...writesIn(step, "create", connects), ...writesIn(step, "delete", disconnects)]
    : writesIn(step, "update", (change) => [...connects(change), ...disconnects(change)]);
}

/** The places in a change that write a row each; more may follow from `removesOthers`. */
type Places = (change: RelationChange) => readonly BodyPath[];

const connects: Places = ({ connect }) => connect.map(({ bodyPath }) => bodyPath);

const disconnects: Places = ({ disconnect }) => disconnect.map(({ bodyPath }) => bodyPath);

function writesIn(
  { written, changes }: RelateStep,
  access: RelatedWrite["access"],
  places: Places,
): readonly RelatedWrite[] {
  const found = changes.flatMap(places);
  const isRemoval = access !== "create";
  const [first = null] = [
    ...found,
    ...changes.flatMap(({ removesOthers }) => isRemoval ? removesOthers ?? [] : []),
  ];
  if (written === null || first === null) return noRelatedWrites;
  return [{ resource: written, access, count: found.length, bodyPath: first }];
}

/** The resources in which the rows and the links that a body names are looked up. */
export function lookedUpResources({ steps }: NestedRows): ReadonlySet<Resource> {
  if (steps.length === 1) return noResources;
  return new Set(steps.flatMap((step) => {
    if (step.kind === "find") return [step.resource];
    if (step.kind !== "relate") return [];
    const { target, written, relation: { type }, changes } = step;
    const isRead = type === "manyToMany" || changes.some((change) => change.requiresNone !== null);
    return isRead ? [target, ...written === null ? [] : [written]] : [];
  }));
}

function sumOf<T>(list: readonly T[], count: (one: T) => number): number {
  return list.reduce((sum, one) => sum + count(one), 0);
}
