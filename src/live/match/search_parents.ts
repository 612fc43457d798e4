import type { Change, ChangeLog } from "../../db/changes/change_log.ts";
import type { Position } from "../../db/changes/log_position.ts";
import { DatabaseError } from "../../db/database_error.ts";
import type { Connection, ReadLimits } from "../../db/driver.ts";
import { fetchRelated, type RowReader } from "../../db/rows.ts";
import { attachStoredForms } from "../../filter/match/row_matches.ts";
import type { RelatedKey, RelatedPlan } from "../../plan/plan.ts";
import { relatedKeyId, relatedKeyOf } from "../../plan/related_key.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { LiveQuery } from "../live_view.ts";
import { liveReadLimits } from "./matcher.ts";
import type { Filter } from "../../filter/filter.ts";
import type { InMemoryMatcher } from "../../filter/match/in_memory_matcher.ts";
import {
  type Relation,
  type RelationStep,
  relationStep,
  reversedPairs,
} from "../../schema/relation.ts";

interface SearchedGroup {
  readonly query: Pick<LiveQuery, "table" | "reader">;
}

const maxAffectedParents = 500;

/** Maximum bytes of all parents together. The read includes all columns, even hidden columns. */
const maxAffectedBytes = 8 * 1024 * 1024;

export interface ParentSearch<G> {
  readonly parentSteps: readonly ParentStep[];
  /** Any group with this include path: all such groups have the same table and the same reader. */
  readonly group: G;
  readonly keys: ParentKeys<G>;
}

type ParentKeys<G> = Map<unknown, { readonly key: RelatedKey; readonly groups: Set<G> }>;

export function addParentKey<G>(keys: ParentKeys<G>, key: RelatedKey, groups: Iterable<G>): void {
  const id = relatedKeyId(key);
  const known = keys.get(id) ?? { key, groups: new Set() };
  for (const group of groups) known.groups.add(group);
  keys.set(id, known);
}

export interface ParentRows<G> {
  readonly rows: ReadonlyMap<Row, ReadonlySet<G>>;
  readonly at: Position;
}

export async function searchParents<G extends SearchedGroup>(
  { parentSteps, group, keys: first }: ParentSearch<G>,
  identity: string,
  log: ChangeLog,
): Promise<ParentRows<G> | null> {
  const { table, reader } = group.query;
  let keys = first;
  for (const [index, step] of parentSteps.entries()) {
    const next = parentSteps[index + 1]?.relation.steps[0];
    const columns = next === undefined ? table.columns : next.own;
    const found = await readParents(log, { step, keys, columns, reader, identity });
    if (found === null || next === undefined) return found;
    keys = keysOf(found.rows, columns);
    if (keys.size === 0) return { rows: new Map(), at: found.at };
  }
  throw new Error("An include path has a step");
}

interface ParentRead<G> {
  readonly step: ParentStep;
  readonly keys: ParentKeys<G>;
  readonly columns: readonly ColumnInfo[];
  readonly reader: RowReader;
  readonly identity: string;
}

async function readParents<G>(
  log: ChangeLog,
  { step: { relation, where, links, isIndexed }, keys, columns, reader, identity }: ParentRead<G>,
): Promise<ParentRows<G> | null> {
  const { target } = relation;
  const linkKeys = [...keys.values()];
  const limits = liveReadLimits(identity, maxAffectedBytes);
  const found = await readRelated({ log, limits, reader }, {
    kind: "related",
    relation,
    keys: linkKeys.map(({ key }) => key),
    columns,
    where,
    links,
    order: target.primaryKey.map((column) => ({ column, descending: false })),
    limit: maxAffectedParents + 1,
    // One row more than the limit shows that there are too many parents.
    most: maxAffectedParents + 1,
    byIndex: isIndexed,
    // Avoids a scan of the table: the keys are few, and their columns usually have an index.
    isUnindexed: false,
  });
  if (found === null || found.rows.length > maxAffectedParents) return null;
  const rows = new Map(found.rows.map((row, index) => {
    attachStoredForms(row, found.stored[index] ?? [], columns, reader.dialect);
    return [row, linkKeys[found.places[index] ?? -1]?.groups ?? new Set<G>()] as const;
  }));
  return { rows, at: found.at };
}

interface RelatedRead {
  readonly log: ChangeLog;
  readonly limits: ReadLimits;
  readonly reader: RowReader;
}

async function readRelated({ log, limits, reader }: RelatedRead, plan: RelatedPlan) {
  let at: Position | null = null;
  const connection: Connection = {
    async query(statement) {
      const { position, ...result } = await log.readAt(statement, limits);
      at = position;
      return result;
    },
  };
  try {
    const found = await fetchRelated(connection, plan, reader);
    if (at === null) throw new Error("Nothing was read");
    return { ...found, at };
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === "too-large") return null;
    throw error;
  }
}

function keysOf<G>(
  rows: ReadonlyMap<Row, ReadonlySet<G>>,
  columns: readonly ColumnInfo[],
): ParentKeys<G> {
  const keys: ParentKeys<G> = new Map();
  for (const [row, groups] of rows) {
    const key = relatedKeyOf(row, columns);
    if (key !== null) addParentKey(keys, key, groups);
  }
  return keys;
}

/** A path of relations from a related table back to the rows that a stream shows. */
export interface IncludePath {
  /** The name of the path. Equal names in one resource mean the same relations and filters. */
  readonly name: string;
  readonly table: TableInfo;
  /** Returns true if a row of the table can be included; null if only the database can decide. */
  readonly decide: InMemoryMatcher;
  /** Returns true if a change may affect the shown rows. The function is null if all may. */
  readonly mayMatter: ((change: Change) => boolean) | null;
  /** The relations to follow from the table to the shown rows, in order. Never empty. */
  readonly parentSteps: readonly ParentStep[];
}

export interface ParentStep {
  /** The relation, reversed so that it leads to the parents. */
  readonly relation: Relation;
  /** The filter of the parents. An excluded parent hides all related rows below it. */
  readonly where: Filter;
  readonly links: Filter;
  readonly isIndexed: boolean;
}

/** Returns the keys of the rows that include a changed row. Empty if the change is not shown. */
export function linkKeysOf(
  change: Change,
  { decide, mayMatter, parentSteps }: IncludePath,
): readonly RelatedKey[] {
  const { before, after } = change;
  const step = parentSteps[0]?.relation.steps[0];
  // An event for a row that neither was nor is included would reveal that the row exists.
  const passes = (row: Row | null) => row !== null && decide({ row }) !== false;
  if (step === undefined || (!passes(before) && !passes(after))) return [];
  if (mayMatter !== null && !mayMatter(change)) return [];
  const columns = step.own;
  return [before, after].flatMap((row) => {
    const key = row === null ? null : relatedKeyOf(row, columns);
    return key === null ? [] : [key];
  });
}

/** Returns the opposite of a relation: from its target, through its join table, to its owner. */
export function reverseRelation(
  relation: Relation,
): { readonly fromTarget: Relation; readonly fromLinks: Relation | null } {
  const { owner, target, steps: [near, far] } = relation;
  const home = reverseStep(near, owner);
  const toOwner = { ...relation, target: owner, toMany: true };
  if (far === undefined) {
    return { fromTarget: { ...toOwner, owner: target, steps: [home] }, fromLinks: null };
  }
  const steps = [reverseStep(far, near.table), home] as const;
  return {
    fromTarget: { ...toOwner, owner: target, steps },
    fromLinks: { ...toOwner, owner: near.table, steps: [home] },
  };
}

function reverseStep({ pairs }: RelationStep, table: TableInfo): RelationStep {
  return relationStep(table, reversedPairs(pairs));
}
