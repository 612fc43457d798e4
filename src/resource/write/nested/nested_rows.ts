import type { Relation } from "../../../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../../schema/table_info.ts";
import { noRelatedWrites, noResources } from "../../rights/related_grants.ts";
import type { BodyPath, RelatedWrite } from "../../model/operation.ts";
import type { Resource } from "../../model/resource.ts";

export interface NestedRow {
  readonly bodyPath: BodyPath;
  /** The row's values in the body. For an existing row, the values of its key. */
  readonly given: ReadonlyMap<ColumnInfo, unknown>;
  readonly foreignKeySources: readonly ForeignKeySource[];
  readonly embedded: readonly EmbeddedRows[];
}

export interface ForeignKeySource {
  readonly column: ColumnInfo;
  readonly from: NestedRow;
  readonly source: ColumnInfo;
  /** True if no body can change the column, so the existing row must have the value already. */
  readonly isFixed?: boolean;
}

export interface EmbeddedRows {
  readonly relation: Relation;
  readonly target: Resource;
  readonly rows: readonly NestedRow[];
}

export type RowsStep =
  | {
    readonly kind: "create" | "find" | "update";
    readonly resource: Resource;
    readonly rows: readonly NestedRow[];
  }
  | { readonly kind: "link"; readonly table: TableInfo; readonly rows: readonly NestedRow[] }
  | RelateStep;

export interface RelateStep {
  readonly kind: "relate";
  readonly relation: Relation;
  readonly target: Resource;
  /** The resource of the changed children or links, or null if no resource serves the links. */
  readonly written: Resource | null;
  readonly changes: readonly RelationChange[];
}

export interface RelationChange {
  readonly around: NestedRow;
  readonly connect: readonly NestedRow[];
  readonly disconnect: readonly NestedRow[];
  /** Path of a `set`, which disconnects all related rows that it does not list; else null. */
  readonly removesOthers: BodyPath | null;
  /** The path where the body creates a row that must be the only related row; else null. */
  readonly requiresNone: BodyPath | null;
}

export interface NestedRows {
  readonly resource: Resource;
  readonly access: "create" | "update";
  readonly rows: readonly NestedRow[];
  /** Groups of writes, ordered so that each row comes after the rows that it refers to. */
  readonly steps: readonly RowsStep[];
}

export function ownCount(body: NestedRows): number {
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

/** Returns the writes that need another grant: to another resource, or with another access. */
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

/** Returns the body paths of the rows that a change writes, except for rows that `set` removes. */
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
