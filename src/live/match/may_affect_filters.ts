import type { Change } from "../../db/changes/change_log.ts";
import type { Filter, Related } from "../../filter/filter.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { Matcher } from "./matcher.ts";

/** The tables whose rows decide about those of the filters' own: the ones that they walk to. */
export function relatedTables(filters: readonly Filter[]): ReadonlySet<TableInfo> {
  const tables = new Set<TableInfo>();
  for (const { relation } of filters.flatMap(allRelatedTerms)) {
    for (const { table } of relation.steps) tables.add(table);
  }
  return tables;
}

/**
 * Whether a change of a related row may move other rows into one of the filters or out of it. Most
 * do not: neither whether the related row passes nor what it is linked by is another than before.
 */
export function mayAffectFilters(
  change: Change,
  filters: readonly Filter[],
  matcher: Matcher,
): boolean {
  return filters.flatMap(allRelatedTerms).some((term) => mayAffectTerm(change, term, matcher));
}

/** The walks of a filter, without those within walks. */
export function relatedTerms(filter: Filter): readonly Related[] {
  if (filter.kind === "and" || filter.kind === "or") return filter.terms.flatMap(relatedTerms);
  return filter.kind === "related" ? [filter] : [];
}

function allRelatedTerms(filter: Filter): readonly Related[] {
  return relatedTerms(filter).flatMap((term) => [
    term,
    ...allRelatedTerms(term.filter),
    ...allRelatedTerms(term.links),
  ]);
}

/** The same for one walk, without those within it. */
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
    if (before === null || after === null) return was !== false || is !== false;
    if (was === null || is === null) return !isSame(before, after, step.table.columns);
    if (was !== is) return true;
    return is && !isSame(before, after, next === undefined ? [step.other] : [step.other, next.own]);
  });
}

function isSame(before: Row, after: Row, columns: readonly ColumnInfo[]): boolean {
  return columns.every(({ name }) => Object.is(before[name], after[name]));
}
