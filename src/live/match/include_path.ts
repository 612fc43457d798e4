import type { InMemoryMatcher } from "../../filter/match/in_memory_matcher.ts";
import { canonicalFilterText } from "../../filter/canonical_filter.ts";
import { allRows, type Filter } from "../../filter/filter.ts";
import type { Relation } from "../../schema/relation.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";
import type { Change } from "../../db/changes/change_log.ts";
import type { Matcher } from "./matcher.ts";
import { includePathsOfFilter, reversedRelation, reversedStep } from "./include_paths_of_filter.ts";
import type { ShownRelation } from "../live_view.ts";

/** How one leads from a row of a table that has changed to the rows under which it is shown. */
export interface IncludePath {
  /** Two ways of one resource with the same name lead alike. */
  readonly name: string;
  readonly table: TableInfo;
  /** Whether a row of the table is shown; null where only the database can tell. */
  readonly decide: InMemoryMatcher;
  /** Whether a change of such a row can matter; null where every change of a shown one does. */
  readonly mayMatter: ((change: Change) => boolean) | null;
  /** One step up after the other, from the table to that of the rows. Never empty. */
  readonly parentSteps: readonly ParentStep[];
}

/** From rows to those under which they are shown. */
export interface ParentStep {
  /** The relation the other way round. */
  readonly relation: Relation;
  /** Over the rows that it leads to: those that are not shown themselves show nothing. */
  readonly where: Filter;
  /** Over the link table of `manyToMany`. */
  readonly links: Filter;
  readonly isIndexed: boolean;
}

/** All ways to the rows of a view. */
export function includePathsOfView(
  shown: readonly ShownRelation[],
  matcher: Matcher,
): readonly IncludePath[] {
  return includePathsBelow(shown, { name: [], where: allRows, parentSteps: [] }, matcher);
}

/** The values by which a change leads on: those of the row before and after, where it is shown. */
export function linkValuesOf(
  change: Change,
  { decide, mayMatter: reaches, parentSteps }: IncludePath,
): ReadonlySet<unknown> {
  const { before, after } = change;
  const column = parentSteps[0]?.relation.steps[0].own;
  const values = new Set<unknown>();
  // A row that is shown neither before nor after is nobody's affair: an event would betray it.
  const passes = (row: Row | null) => row !== null && decide({ row }) !== false;
  if (column === undefined || (!passes(before) && !passes(after))) return values;
  if (reaches !== null && !reaches(change)) return values;
  for (const row of [before, after]) {
    const value = row?.[column.name] ?? null;
    if (value !== null) values.add(value);
  }
  return values;
}

interface Above {
  readonly name: readonly string[];
  readonly where: Filter;
  readonly parentSteps: readonly ParentStep[];
}

function includePathsBelow(
  shown: readonly ShownRelation[],
  above: Above,
  matcher: Matcher,
): readonly IncludePath[] {
  return shown.flatMap(({ relation, filter, links, isIndexed, shown }) => {
    const { where } = above;
    const name = [
      ...above.name,
      canonicalFilterText(where),
      relation.name,
      canonicalFilterText(links),
    ];
    const { owner, target, steps: [near, far] } = relation;
    const fromTarget = far === undefined
      ? [reversedStep(near, owner)]
      : [reversedStep(far, near.table), reversedStep(near, owner)];
    const parentStep = {
      relation: reversedRelation(relation, target, fromTarget),
      where,
      links,
      isIndexed,
    };
    const parentSteps = [parentStep, ...above.parentSteps];
    const includePaths: IncludePath[] = [
      {
        name: JSON.stringify(name),
        table: target,
        decide: matcher.compile(filter),
        mayMatter: null,
        parentSteps,
      },
      // What decides which rows are shown may stand further on.
      ...includePathsOfFilter(filter, { name, parentSteps }, matcher),
      ...includePathsBelow(shown, { name, where: filter, parentSteps }, matcher),
    ];
    if (far === undefined) return includePaths;
    const fromLinks = reversedRelation(relation, near.table, [reversedStep(near, owner)]);
    const linked = {
      name: [...name, ""],
      parentSteps: [
        { relation: fromLinks, where, links: allRows, isIndexed },
        ...above.parentSteps,
      ],
    };
    return [
      ...includePaths,
      {
        name: JSON.stringify(linked.name),
        table: near.table,
        decide: matcher.compile(links),
        mayMatter: null,
        parentSteps: linked.parentSteps,
      },
      ...includePathsOfFilter(links, linked, matcher),
    ];
  });
}
