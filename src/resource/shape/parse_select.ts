import { excerptOf } from "../../filter/syntax/filter_error.ts";
import { nameOfItem, splitNames, splitPath } from "../../filter/syntax/quoted_name.ts";
import {
  type DocumentParts,
  type DocumentPath,
  documentPathOf,
  partsOfPaths,
} from "../../filter/document_path.ts";
import { namesByNormalForm, nearMissOf } from "../../problem/nearest_name.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";

/** The properties of a resource that determine which names `select` can contain. */
export type Selectable = Pick<
  Resource,
  "fields" | "computed" | "relations" | "strictQuery" | "safeNumbers"
>;

/** The columns that `select` names, and the values to which it limits their documents. */
export interface Selection {
  readonly visible: readonly ColumnInfo[];
  /** The selected values of each JSON column that is not selected as a whole. Null for none. */
  readonly parts: ReadonlyMap<ColumnInfo, DocumentParts> | null;
}

/**
 * Parses the query parameter `select=a,b.c` and returns the readable columns that it names, in the
 * table's order. Hidden and unknown names are ignored. A name that is similar to a shown field is a
 * 400 that suggests this field, because the client would otherwise miss it.
 */
export function parseSelect(text: string, resource: Selectable): Selection {
  const { fields: { readable }, strictQuery } = resource;
  const items = splitNames(text);
  const names = new Set(items.map(nameOfItem));
  const whole = readable.filter((column) => names.has(column.name));
  if (whole.length === names.size) return { visible: whole, parts: null };
  const paths = new Map<ColumnInfo, DocumentPath["path"][]>();
  for (const item of items) {
    const found = item.includes(".") ? documentPathOf(item, readable) : null;
    if (found === null || whole.includes(found.source)) continue;
    names.delete(nameOfItem(item));
    paths.set(found.source, [...paths.get(found.source) ?? [], found.path]);
  }
  if (strictQuery) refuseNearMisses(names, resource);
  if (paths.size === 0) return { visible: whole, parts: null };
  return {
    visible: readable.filter((column) => names.has(column.name) || paths.has(column)),
    parts: new Map([...paths].map(([column, list]) => [column, partsOfPaths(list) ?? []])),
  };
}

/** Compares only with the names of shown fields, so that hidden names look like unknown names. */
function refuseNearMisses(
  names: ReadonlySet<string>,
  { fields: { readable }, computed, relations }: Selectable,
): void {
  const shown = new Set([
    ...readable.map(({ name }) => name),
    ...computed.fields.map(([name]) => name),
  ]);
  const byPlain = namesByNormalForm(shown);
  for (const written of [...names].slice(0, maxNames)) {
    // In `mete.size`, the name of the field can be misspelt.
    const name = shown.has(written) ? written : splitPath(written)[0] ?? "";
    // `select` does not affect included rows. They are always in the response.
    if (name === "" || name.length > maxLength || shown.has(name) || relations.has(name)) continue;
    const meant = nearMissOf(name, byPlain);
    if (meant === undefined) continue;
    throw new Problem(
      "invalid-parameter",
      `Cannot select ${excerptOf(name)}: there is no field of this name. Did you mean ${
        JSON.stringify(meant)
      }?`,
    );
  }
}

/** The maximum number of unknown names for which a similar name is searched. */
const maxNames = 200;
const maxLength = 100;
