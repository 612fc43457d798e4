import type { Filter } from "../filter/filter.ts";
import { equalityTerms } from "../filter/equality_terms.ts";
import { valueId } from "../schema/value_id.ts";
import type { ColumnInfo, Row } from "../schema/table_info.ts";
import type { Group } from "./group.ts";
import type { Passage } from "./passage.ts";

/**
 * The groups of one table, found by what a row holds: a filter that asks for `ownerId==7` is not
 * even looked at for the rows of others. Groups without such a term are tried on every row.
 */
export class GroupIndex {
  /** Groups by column and value. */
  readonly #byColumn = new Map<ColumnInfo, Map<string, Set<Group>>>();
  readonly #others = new Set<Group>();

  /** Adds a group. */
  add(group: Group): void {
    const terms = termsOf(group.interest.filter);
    if (terms === null) {
      this.#others.add(group);
      return;
    }
    for (const { column, value } of terms) {
      const byValue = this.#byColumn.get(column) ?? new Map<string, Set<Group>>();
      this.#byColumn.set(column, byValue);
      const id = valueId(value, column);
      const groups = byValue.get(id);
      if (groups === undefined) byValue.set(id, new Set([group]));
      else groups.add(group);
    }
  }

  /** Takes a group away. */
  remove(group: Group): void {
    const terms = termsOf(group.interest.filter);
    if (terms === null) {
      this.#others.delete(group);
      return;
    }
    for (const { column, value } of terms) {
      const byValue = this.#byColumn.get(column);
      const id = valueId(value, column);
      const groups = byValue?.get(id);
      groups?.delete(group);
      if (groups?.size === 0) byValue?.delete(id);
      if (byValue?.size === 0) this.#byColumn.delete(column);
    }
  }

  /**
   * Calls `visit` once for each group that a passage may concern: by what the row was as well as by
   * what it is, because a row that leaves a filter no longer has the value that the filter asks for.
   */
  visit({ before, after }: Passage, visit: (group: Group) => void): void {
    for (const group of this.#others) visit(group);
    // A group with several terms may be met by several values of one row.
    const seen = this.#byColumn.size > 1 ? new Set<Group>() : null;
    for (const [column, byValue] of this.#byColumn) {
      const is = groupsOf(after, column, byValue);
      const was = groupsOf(before, column, byValue);
      for (const group of is ?? []) once(group, seen, visit);
      if (was === is) continue;
      for (const group of was ?? []) if (is?.has(group) !== true) once(group, seen, visit);
    }
  }
}

/** In a foreign table equality may be its collation's, and a value may be of another kind. */
function termsOf(filter: Filter): ReturnType<typeof equalityTerms> {
  return equalityTerms(filter, ({ foreignType }) => foreignType === null);
}

function groupsOf(
  row: Row | null,
  column: ColumnInfo,
  byValue: ReadonlyMap<string, ReadonlySet<Group>>,
): ReadonlySet<Group> | undefined {
  const value = row?.[column.name] ?? null;
  return value === null ? undefined : byValue.get(valueId(value, column));
}

function once(group: Group, seen: Set<Group> | null, visit: (group: Group) => void): void {
  if (seen?.has(group) === true) return;
  seen?.add(group);
  visit(group);
}
