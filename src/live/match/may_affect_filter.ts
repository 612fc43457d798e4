import type { Change } from "../../db/changes/change_log.ts";
import { allRows, type Filter, type Related, relatedTerms } from "../../filter/filter.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { LiveQuery, ShownRelation } from "../live_view.ts";
import { isSameStored, type Matcher } from "./matcher.ts";
import type { Relation } from "../../schema/relation.ts";
import { type IncludePath, type ParentStep, reverseRelation } from "./search_parents.ts";

export function mayAffectFilter(change: Change, filter: Filter, matcher: Matcher): boolean {
  return allRelatedTerms(filter).some((term) => mayAffectTerm(change, term, matcher));
}

/** Returns true if a change can affect a filter's term about related rows. Ignores nested terms. */
export function mayAffectTerm(
  change: Change,
  { relation, filter, links }: Related,
  matcher: Matcher,
): boolean {
  const { kind, before, after } = change;
  const { steps } = relation;
  return steps.some((step, index) => {
    if (step.table !== change.table) return false;
    if (kind === "truncate" || kind === "touch") return true;
    const next = steps[index + 1];
    const decide = matcher.compile(next === undefined ? filter : links);
    const passes = (row: Row | null) => row === null ? false : decide({ row });
    const [was, is] = [passes(before), passes(after)];
    // Row-level security can read any column, so any change of the row can show or hide the row.
    const isRestricted = before === null || after === null || matcher.hidesRows(step.table);
    if (isRestricted) return was !== false || is !== false;
    if (was === null || is === null) return !areEqual(before, after, step.table.columns);
    if (was !== is) return true;
    const linkColumns = [...step.other, ...(next === undefined ? [] : next.own)];
    return is && !areEqual(before, after, linkColumns);
  });
}

export function relatedTables(filter: Filter): ReadonlySet<TableInfo> {
  const tables = new Set<TableInfo>();
  for (const { relation } of allRelatedTerms(filter)) {
    for (const { table } of relation.steps) tables.add(table);
  }
  return tables;
}

export function tablesReadBy({ filter, view: { shown } }: LiveQuery): ReadonlySet<TableInfo> {
  const tables = new Set<TableInfo>();
  const add = (filters: readonly Filter[], included: readonly ShownRelation[]) => {
    for (const one of filters) for (const table of relatedTables(one)) tables.add(table);
    for (const { relation, filter, links, shown } of included) {
      for (const { table } of relation.steps) tables.add(table);
      add([filter, links], shown);
    }
  };
  add([filter], shown);
  return tables;
}

function allRelatedTerms(filter: Filter): readonly Related[] {
  return relatedTerms(filter).flatMap((term) => [
    term,
    ...allRelatedTerms(term.filter),
    ...allRelatedTerms(term.links),
  ]);
}

function areEqual(before: Row, after: Row, columns: readonly ColumnInfo[]): boolean {
  return columns.every((column) => isSameStored(before, after, column));
}

/** The last part of include paths: from the filtered rows to the rows that a stream shows. */
export interface PathEnd {
  readonly name: readonly string[];
  readonly parentSteps: readonly ParentStep[];
}

/** The end of include paths if a stream shows the filtered rows themselves: no further steps. */
export const ownRowsEnd: PathEnd = Object.freeze({ name: [], parentSteps: [] });

export function includePathsOfFilter(
  filter: Filter,
  end: PathEnd,
  matcher: Matcher,
): readonly IncludePath[] {
  return relatedTerms(filter).flatMap((term) => pathsOfTerm(term, end, matcher));
}

function pathsOfTerm(term: Related, end: PathEnd, matcher: Matcher): readonly IncludePath[] {
  const { relation, filter, links } = term;
  const mayMatter = (change: Change) => mayAffectTerm(change, term, matcher);
  const { fromTarget, fromLinks } = reverseRelation(relation);
  const target = {
    // `?` marks a relation that a filter uses. An included relation's name never begins with `?`.
    name: [...end.name, `?${relation.name}`],
    parentSteps: [parentStepOf(fromTarget), ...end.parentSteps],
  };
  const paths = [
    pathTo(target, { table: relation.target, decide: matcher.compile(filter), mayMatter }),
    ...includePathsOfFilter(filter, target, matcher),
  ];
  if (fromLinks === null) return paths;
  const linked = {
    name: [...target.name, ""],
    parentSteps: [parentStepOf(fromLinks), ...end.parentSteps],
  };
  return [
    ...paths,
    pathTo(linked, { table: fromLinks.owner, decide: matcher.compile(links), mayMatter }),
    ...includePathsOfFilter(links, linked, matcher),
  ];
}

export function pathTo(
  { name, parentSteps }: PathEnd,
  start: Pick<IncludePath, "table" | "decide" | "mayMatter">,
): IncludePath {
  return { ...start, name: JSON.stringify(name), parentSteps };
}

function parentStepOf(relation: Relation): ParentStep {
  return { relation, where: allRows, links: allRows, isIndexed: false };
}
