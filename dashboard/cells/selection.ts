import { quoteName } from "../../src/filter/syntax/quoted_name.ts";
import { equals, exact } from "../data/column_filters.ts";
import type { ResourceDescription } from "../service/facts.ts";
import { keyOfRow, keyText, type Row } from "../service/resources.ts";

/** The rows of a list that the operator has selected. */
export interface Selection {
  /** The selected rows by the texts of their keys. */
  readonly rows: ReadonlyMap<string, Row>;
  /** True if all rows that match the filter of the list are selected. */
  readonly isAll: boolean;
}

/** The selection of no row. */
export const noSelection: Selection = { rows: new Map(), isAll: false };

/** Selects a row, or removes it from the selection. */
export function toggled(
  { rows }: Selection,
  row: Row,
  resource: ResourceDescription,
): Selection {
  const key = keyText(keyOfRow(resource, row));
  const next = new Map(rows);
  if (!next.delete(key)) next.set(key, row);
  return { rows: next, isAll: false };
}

/** Returns the selection with further rows. */
export function withRows(
  { rows }: Selection,
  more: readonly Row[],
  resource: ResourceDescription,
): Selection {
  const added = more.map((row) => [keyText(keyOfRow(resource, row)), row] as const);
  return { rows: new Map([...rows, ...added]), isAll: false };
}

/** Returns the filter that matches the rows with these keys. */
export function filterOfKeys(
  { key }: Pick<ResourceDescription, "key">,
  keys: readonly (readonly string[])[],
): string {
  const [name = "", second] = key;
  if (second === undefined) {
    return `${quoteName(name)}=in=(${keys.map(([value = ""]) => exact(value))})`;
  }
  return keys.map((values) => `(${key.map((one, at) => equals(one, values[at] ?? "")).join(";")})`)
    .join();
}
