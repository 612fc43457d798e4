import type { Change } from "../../db/changes/change_log.ts";
import type { Filter } from "../../filter/filter.ts";
import type { InMemoryMatcher } from "../../filter/match/in_memory_matcher.ts";
import type { RelatedKey } from "../../plan/plan.ts";
import { relatedKeyOf } from "../../plan/related_key.ts";
import {
  type Relation,
  type RelationStep,
  relationStep,
  reversedPairs,
} from "../../schema/relation.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";

/** A path of relations from a related table back to the rows that a stream shows. */
export interface IncludePath {
  /** The name of the path. Equal names in one resource mean the same relations and filters. */
  readonly name: string;
  readonly table: TableInfo;
  /** Returns true if a row of the table can be included; null if only the database can decide. */
  readonly decide: InMemoryMatcher;
  /** Returns true if a change of a row of `table` can affect parents; null if every change can. */
  readonly mayMatter: ((change: Change) => boolean) | null;
  /** The relations to follow from the table to the shown rows, in order. Never empty. */
  readonly parentSteps: readonly ParentStep[];
}

/** One step of an include path: from rows to their parents. */
export interface ParentStep {
  /** The relation, reversed so that it leads to the parents. */
  readonly relation: Relation;
  /** The filter of the parents. A parent that is not included itself includes no rows. */
  readonly where: Filter;
  /** The filter of the join table of a `manyToMany` relation. */
  readonly links: Filter;
  readonly isIndexed: boolean;
}

/** Returns the keys of a changed row's parents, or none if no included row can change. */
export function linkKeysOf(
  change: Change,
  { decide, mayMatter, parentSteps }: IncludePath,
): readonly RelatedKey[] {
  const { before, after } = change;
  const step = parentSteps[0]?.relation.steps[0];
  // For a row that was and is not included, an event would reveal that the row exists.
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
