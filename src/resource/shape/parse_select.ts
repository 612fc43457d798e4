import { excerptOf } from "../../filter/syntax/filter_error.ts";
import { nameOfItem, quoteName, splitNames } from "../../filter/syntax/quoted_name.ts";
import { didYouMean, nearestField } from "../../problem/nearest_name.ts";
import { Problem } from "../../problem/problem.ts";
import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";

/** The properties of a resource that determine which names `select` can contain. */
export type Selectable = Pick<
  Resource,
  "fields" | "computed" | "relations" | "served" | "strictQuery" | "safeNumbers" | "withheld"
>;

/** The included relations of a request, which `select` can name without an effect. */
type Included = readonly { readonly relation: Relation }[];

/**
 * Parses the query parameter `select=a,b` and returns the readable columns that it names, in the
 * table's order. A name that is no field of the resource is a 400, unless `strictQuery` is false.
 * Hidden names look like unknown names. A field that only other users can read is ignored.
 */
export function parseSelect(
  text: string,
  resource: Selectable,
  include: Included,
): readonly ColumnInfo[] {
  const { fields: { readable }, strictQuery } = resource;
  const names = new Set(splitNames(text).map(nameOfItem));
  const selected = readable.filter((column) => names.has(column.name));
  if (strictQuery && selected.length < names.size) requireKnown(names, resource, include);
  return selected;
}

function requireKnown(
  names: ReadonlySet<string>,
  { fields: { readable }, computed, withheld, relations, served }: Selectable,
  include: Included,
): void {
  const shown = [
    ...readable.map(({ name }) => name),
    ...computed.fields.map(([name]) => name),
  ];
  const withoutEffect = [...[...withheld].map(({ name }) => name), ""];
  const known = new Set([
    ...shown,
    ...withoutEffect,
    ...include.map(({ relation: { name } }) => name),
  ]);
  const [unknown] = names.difference(known);
  if (unknown === undefined) return;
  const related = [...relations.values()].filter(({ target }) => served.get(target) !== undefined)
    .map(({ name }) => name);
  throw new Problem(
    "invalid-parameter",
    `Cannot select ${excerptOf(unknown)}: ${adviceFor(unknown, shown, related)}`,
  );
}

function adviceFor(
  name: string,
  fields: readonly string[],
  relations: readonly string[],
): string {
  if (name === "*") return "omit select to get every field";
  if (relations.includes(name)) return `this is a relation: write include=${quoteName(name)}`;
  if (name.endsWith("()")) return "aggregates are at /aggregate: write for example ?sum=amount";
  // In PostgREST, and with dots in other services, an item can select fields of related rows.
  const [, nested] = /^(?:\.{3}|[^(.]*:)?([^(.:!]+)[(.!]/.exec(name) ?? [];
  if (nested !== undefined) {
    const relation = nearestField(nested, relations) ?? "relation";
    return `fields of related rows are in include: write include=${quoteName(relation)}(select:…)`;
  }
  return /:|->/.test(name)
    ? "select cannot rename or convert a field, or select a part of a document"
    : `there is no field of this name${didYouMean(name, fields)}`;
}
