import { quoteName } from "../../src/filter/syntax/quoted_name.ts";
import { nameOfItem, splitItems } from "../service/names.ts";

/** A key of an order. */
export interface OrderKey {
  readonly field: string;
  readonly isDescending: boolean;
}

/** Reads an order as requests have it: `-rating,title`. */
export function parseOrder(text: string): readonly OrderKey[] {
  return splitItems(text).map((key) => ({
    field: nameOfItem(key.replace(/^-/, "")),
    isDescending: key.startsWith("-"),
  }));
}

/** Writes what {@link parseOrder} reads. */
export function printOrder(keys: readonly OrderKey[]): string {
  return keys.map(({ field, isDescending }) => (isDescending ? "-" : "") + quoteName(field)).join(
    ",",
  );
}

/**
 * The order after a click at a field: upwards, downwards, then not at all. With `adds` the other
 * fields stay.
 */
export function toggleOrder(
  keys: readonly OrderKey[],
  field: string,
  adds: boolean,
): readonly OrderKey[] {
  const known = keys.find((key) => key.field === field);
  const next = known === undefined
    ? [{ field, isDescending: false }]
    : known.isDescending
    ? []
    : [{ field, isDescending: true }];
  if (!adds) return next;
  return known === undefined
    ? [...keys, ...next]
    : keys.flatMap((key) => key === known ? next : [key]);
}
