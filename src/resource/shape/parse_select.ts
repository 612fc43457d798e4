import { excerptOf } from "../../filter/syntax/filter_error.ts";
import { nameOfItem, splitNames } from "../../filter/syntax/quoted_name.ts";
import { namesByNormalForm, nearMissOf } from "../../problem/nearest_name.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";

/** The properties of a resource that determine which names `select` can contain. */
export type Selectable = Pick<
  Resource,
  "fields" | "computed" | "relations" | "strictQuery" | "safeNumbers"
>;

/**
 * Parses the query parameter `select=a,b` and returns the readable columns that it names, in the
 * table's order. Hidden and unknown names are ignored. A name that is similar to a shown field is a
 * 400 that suggests this field, because the client would otherwise miss it.
 */
export function parseSelect(text: string, resource: Selectable): readonly ColumnInfo[] {
  const { fields: { readable }, strictQuery } = resource;
  const names = new Set(splitNames(text).map(nameOfItem));
  const selected = readable.filter((column) => names.has(column.name));
  if (strictQuery && selected.length < names.size) refuseNearMisses(names, resource);
  return selected;
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
  for (const name of [...names].slice(0, maxNames)) {
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
