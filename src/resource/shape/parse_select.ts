import { excerptOf } from "../../filter/syntax/filter_error.ts";
import { nameOfItem, quoteName, splitNames } from "../../filter/syntax/quoted_name.ts";
import {
  type DocumentParts,
  type DocumentPath,
  documentPathOf,
  partsOfPaths,
} from "../../filter/document_path.ts";
import { didYouMean, nearestField } from "../../problem/nearest_name.ts";
import { invalidParameter } from "../../problem/problem.ts";
import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";

export type Selectable = Pick<
  Resource,
  "fields" | "computed" | "relations" | "served" | "strictQuery" | "safeNumbers" | "withheld"
>;

type Included = readonly { readonly relation: Relation }[];

export interface Selection {
  readonly visible: readonly ColumnInfo[];
  /** The values within JSON columns that are selected without the whole column; null if none. */
  readonly parts: ReadonlyMap<ColumnInfo, DocumentParts> | null;
}

/**
 * Returns the readable columns that `select=a,b.c` names, in the table's order. Throws a 400 for an
 * unknown name, unless `strictQuery` is false. Ignores a field that only other users can read.
 */
export function parseSelect(text: string, resource: Selectable, include: Included): Selection {
  const { fields: { selectable }, strictQuery, withheld } = resource;
  const items = splitNames(text);
  const names = new Set(items.map(nameOfItem));
  const whole = selectable.filter((column) => names.has(column.name));
  if (whole.length === names.size) return { visible: whole, parts: null };
  const within: DocumentPath[] = [];
  for (const item of items) {
    const found = item.includes(".") ? documentPathOf(item, [...selectable, ...withheld]) : null;
    if (found === null) continue;
    names.delete(nameOfItem(item));
    if (whole.includes(found.source) || withheld.has(found.source)) continue;
    within.push(found);
  }
  if (strictQuery) requireKnown(names, resource, include);
  if (within.length === 0) return { visible: whole, parts: null };
  const paths = Map.groupBy(within, ({ source }) => source);
  const parts = Array.from(paths, ([column, some]) => {
    return [column, partsOfPaths(some.map(({ path }) => path)) ?? []] as const;
  });
  return {
    visible: selectable.filter((column) => names.has(column.name) || paths.has(column)),
    parts: new Map(parts),
  };
}

function requireKnown(
  names: ReadonlySet<string>,
  { fields: { selectable }, computed, withheld, relations, served }: Selectable,
  include: Included,
): void {
  const shown = [
    ...selectable.map(({ name }) => name),
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
  throw invalidParameter(
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
  // Users of other services write `author(name)` or `author.name`. The error suggests `include`.
  const [, nested] = /^(?:\.{3}|[^(.]*:)?([^(.:!]+)[(.!]/.exec(name) ?? [];
  if (nested !== undefined) {
    const relation = nearestField(nested, relations) ?? "relation";
    const hint = relation === "relation" ? didYouMean(nested, fields) : "";
    if (hint !== "") return `there is no field of this name${hint}`;
    return `fields of related rows are in include: write include=${quoteName(relation)}(select:…)`;
  }
  if (name.includes("->")) return "write a path into a document with dots: field.name";
  return name.includes(":")
    ? "select cannot rename or convert a field"
    : `there is no field of this name${didYouMean(name, fields)}`;
}
