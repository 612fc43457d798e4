import type { Relation } from "../schema/relation.ts";
import { allRows, type Filter, not } from "./filter.ts";

/** The quantifiers of the rows that a path of relations reaches. */
export const quantifiers = ["some", "none", "every"] as const;

/** How many of the reached rows must match: at least one, none, or every one. */
export type Quantifier = (typeof quantifiers)[number];

/**
 * Returns the filter of a quantifier over the rows that a path of relations reaches. `none` is
 * always the complement of `some`. A reached row for which the filter is unknown fails `every`.
 */
export function quantified(
  quantifier: Quantifier,
  path: readonly Relation[],
  filter: Filter,
): Filter {
  switch (quantifier) {
    case "some":
      return someRelated(path, filter);
    case "none":
      return not(someRelated(path, filter));
    case "every":
      return not(someRelated(path, not(filter)));
  }
}

/** Returns the filter for the rows from which a path of relations reaches a matching row. */
export function someRelated(path: readonly Relation[], filter: Filter): Filter {
  return path.reduceRight<Filter>(
    (inner, relation) =>
      inner.kind === "none" ? inner : { kind: "related", relation, filter: inner, links: allRows },
    filter,
  );
}
