import type { Dice } from "./dice.ts";
import { type Filter, randomFilter } from "./filters.ts";
import { mayList, shown } from "./oracle.ts";
import { type Relation, relationsOf, type View } from "./related.ts";
import { byKey, type Row } from "./state.ts";
import type { TableName } from "./tables.ts";

/** An included relation with its options. */
export interface Included {
  readonly name: string;
  readonly relation: Relation;
  readonly filter: Filter | null;
  readonly limit: number | null;
  readonly inner: readonly Included[];
}

export function randomIncludes(
  table: TableName,
  view: View,
  dice: Dice,
  levels = 2,
): readonly Included[] {
  if (levels === 0) return [];
  return dice.some(Object.entries(relationsOf[table]), 2).map(([name, relation]) => {
    const isRead = mayList(view.caller, relation.to);
    return {
      name,
      relation,
      filter: dice.once(3) && isRead ? randomFilter(relation.to, view, dice, 1) : null,
      limit: relation.isMany && dice.once(4) ? 1 + dice.below(2) : null,
      inner: randomIncludes(relation.to, view, dice, levels - 1),
    };
  });
}

export function includeText(includes: readonly Included[]): string {
  return includes.map(({ name, filter, limit, inner }) => {
    const options = [
      ...(filter === null ? [] : [`filter:(${filter.text})`]),
      ...(limit === null ? [] : [`limit:${limit}`]),
      ...(inner.length === 0 ? [] : [`include:${includeText(inner)}`]),
    ];
    return options.length === 0 ? name : `${name}(${options.join(";")})`;
  }).join(",");
}

export const isValidInclude = (includes: readonly Included[]): boolean =>
  includes.every(({ filter, inner }) => (filter?.isValid ?? true) && isValidInclude(inner));

/** Returns a row as its caller reads it, with the related rows that the caller may read. */
export function withIncluded(
  table: TableName,
  row: Row,
  view: View,
  includes: readonly Included[],
): Row {
  const related = includes.map(({ name, relation, filter, limit, inner }) => {
    const rows = view.related(row, relation)
      .filter((one) => filter === null || filter.holds(one, view))
      .toSorted(byKey(relation.to))
      .slice(0, limit ?? 100)
      .map((one) => withIncluded(relation.to, one, view, inner));
    return [name, relation.isMany ? rows : rows[0] ?? null] as const;
  });
  return { ...shown(view.caller, table, row), ...Object.fromEntries(related) };
}
