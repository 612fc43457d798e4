import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import { type EqualityTerm, equalityTerms } from "../../filter/match/equality_terms.ts";
import type { Comparison, Filter } from "../../filter/filter.ts";
import { type RowImage, storedForm } from "../../filter/match/row_matches.ts";
import { fitsKind } from "../../schema/kinds/fits_kind.ts";
import { numberOrBigint } from "../../schema/kinds/number_kinds.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { canonicalValueText } from "../../schema/exact_json.ts";
import type { RowChange } from "./row_change.ts";

interface IndexedGroup {
  readonly query: { readonly filter: Filter };
}

/** Finds the groups that a row can affect. Only rows of owner 7 affect a group of `ownerId==7`. */
export class EqualityIndex<G extends IndexedGroup> {
  readonly #byColumn = new Map<ColumnInfo, Map<IndexKey, Set<G>>>();
  readonly #unindexed = new Set<G>();
  /** The equalities (e.g. `ownerId==7`) that index each group; null for a group without any. */
  readonly #terms = new Map<G, readonly EqualityTerm[] | null>();
  readonly #isCertain: (comparison: Comparison) => boolean;

  /** `isCertain` returns true if memory and database always evaluate a comparison equally. */
  constructor(isCertain: (comparison: Comparison) => boolean) {
    this.#isCertain = isCertain;
  }

  add(group: G): void {
    const terms = equalityTerms(group.query.filter, this.#isCertain);
    this.#terms.set(group, terms);
    if (terms === null) this.#unindexed.add(group);
    for (const { column, value } of terms ?? []) {
      const byValue = this.#byColumn.get(column) ?? new Map<IndexKey, Set<G>>();
      this.#byColumn.set(column, byValue);
      const key = indexKey(value, column);
      const groups = byValue.get(key);
      if (groups === undefined) byValue.set(key, new Set([group]));
      else groups.add(group);
    }
  }

  remove(group: G): void {
    this.#unindexed.delete(group);
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

  /** Visits, once each, the groups whose filters can match the row's old or new values. */
  visit({ before, after }: RowChange, visit: (group: G) => void): void {
    for (const group of this.#unindexed) visit(group);
    const seen = new Set<G>();
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

/** If the stored value is invalid, returns all groups: only the database can compare the value. */
function groupsOf<G>(
  image: RowImage | null,
  column: ColumnInfo,
  byValue: ReadonlyMap<IndexKey, ReadonlySet<G>>,
): ReadonlySet<G> | "any" | undefined {
  const value = image?.row[column.name] ?? null;
  if (image === null || value === null) return undefined;
  if (!fitsKind(value, column) || storedForm(image.row, column) !== undefined) return "any";
  return byValue.get(indexKey(value, column));
}

/** The key of a column value. A small integer is its own key: converting it to a string is slow. */
type IndexKey = string | number;

function indexKey(value: unknown, column: ColumnInfo): IndexKey {
  const short = typeof value === "bigint" ? numberOrBigint(value) : value;
  return typeof short === "number" && kindProperties[column.kind].arithmetic !== "decimal"
    ? short
    : canonicalValueText(short, column);
}

function once<G>(group: G, seen: Set<G>, visit: (group: G) => void): void {
  if (seen.has(group)) return;
  seen.add(group);
  visit(group);
}
