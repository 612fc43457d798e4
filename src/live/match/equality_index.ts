import type { RowImage } from "../../filter/match/row_image.ts";
import { type EqualityTerm, equalityTerms } from "../../filter/match/equality_terms.ts";
import type { Comparison } from "../../filter/filter.ts";
import { fitsKind } from "../../schema/fits_kind.ts";
import { shortestInteger } from "../../schema/number_kinds.ts";
import { canonicalValueText } from "../../schema/canonical_value.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { SubscriberGroup } from "../dispatch/subscriber_group.ts";
import type { RowChange } from "./row_change.ts";

/**
 * The groups of one table, found by what a row holds: a filter that asks for `ownerId==7` is not
 * even looked at for the rows of others. Groups without such a term are tried on every row.
 */
export class EqualityIndex {
  readonly #byColumn = new Map<ColumnInfo, Map<IndexKey, Set<SubscriberGroup>>>();
  readonly #others = new Set<SubscriberGroup>();
  /** What each group is found by: what may serve for that can change. */
  readonly #terms = new Map<SubscriberGroup, readonly EqualityTerm[] | null>();
  readonly #isCertain: (comparison: Comparison) => boolean;

  /** `isCertain` says of which comparisons memory gives the answers of the database. */
  constructor(isCertain: (comparison: Comparison) => boolean) {
    this.#isCertain = isCertain;
  }

  /** Adds a group. */
  add(group: SubscriberGroup): void {
    const terms = equalityTerms(group.query.filter, this.#isCertain);
    this.#terms.set(group, terms);
    if (terms === null) this.#others.add(group);
    for (const { column, value } of terms ?? []) {
      const byValue = this.#byColumn.get(column) ?? new Map<IndexKey, Set<SubscriberGroup>>();
      this.#byColumn.set(column, byValue);
      const key = indexKey(value, column);
      const groups = byValue.get(key);
      if (groups === undefined) byValue.set(key, new Set([group]));
      else groups.add(group);
    }
  }

  /** Takes a group away. */
  remove(group: SubscriberGroup): void {
    this.#others.delete(group);
    for (const { column, value } of this.#terms.get(group) ?? []) {
      const byValue = this.#byColumn.get(column);
      const key = indexKey(value, column);
      const groups = byValue?.get(key);
      groups?.delete(group);
      if (groups?.size === 0) byValue?.delete(key);
      if (byValue?.size === 0) this.#byColumn.delete(column);
    }
    this.#terms.delete(group);
  }

  /**
   * Calls `visit` once for each group that a passage may concern: by what the row was as well as by
   * what it is, because a row that leaves a filter no longer has the value that the filter asks for.
   */
  visit({ before, after }: RowChange, visit: (group: SubscriberGroup) => void): void {
    for (const group of this.#others) visit(group);
    // A group with several terms may be met by several values of one row.
    const seen = new Set<SubscriberGroup>();
    for (const [column, byValue] of this.#byColumn) {
      const is = groupsOf(after, column, byValue);
      const was = groupsOf(before, column, byValue);
      if (is === "any" || was === "any") {
        for (const groups of byValue.values()) for (const group of groups) once(group, seen, visit);
        continue;
      }
      for (const group of is ?? []) once(group, seen, visit);
      if (was === is) continue;
      for (const group of was ?? []) if (is?.has(group) !== true) once(group, seen, visit);
    }
  }
}

/** Any, where the row holds what is no value of the column: what equals that, a database knows. */
function groupsOf(
  image: RowImage | null,
  column: ColumnInfo,
  byValue: ReadonlyMap<IndexKey, ReadonlySet<SubscriberGroup>>,
): ReadonlySet<SubscriberGroup> | "any" | undefined {
  const value = image?.row[column.name] ?? null;
  if (value === null) return undefined;
  if (!fitsKind(value, column) || image?.inexact?.has(column)) return "any";
  return byValue.get(indexKey(value, column));
}

/** Most numbers in rows are small, and serve as they are: a text of each would cost more than all. */
type IndexKey = string | number;

function indexKey(value: unknown, column: ColumnInfo): IndexKey {
  const short = typeof value === "bigint" ? shortestInteger(value) : value;
  return typeof short === "number" && column.kind !== "decimal"
    ? short
    : canonicalValueText(short, column);
}

function once(
  group: SubscriberGroup,
  seen: Set<SubscriberGroup>,
  visit: (group: SubscriberGroup) => void,
): void {
  if (seen.has(group)) return;
  seen.add(group);
  visit(group);
}
