import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { OpenIndex } from "../../search/open_index.ts";
import type { SearchField, SearchIndex } from "../../search/search_index.ts";
import type { SearchIndexes } from "../../search/search_indexes.ts";
import type { CheckedDefinition } from "./check_resource_definition.ts";
import { type ColumnResolver, isList } from "./resolve_field_lists.ts";

export interface SearchedResource
  extends Pick<SearchIndex, "table" | "driver" | "reader" | "undeleted" | "isIndexed"> {
  readonly readable: readonly ColumnInfo[];
  readonly find: ColumnResolver;
}

type Options = CheckedDefinition["options"]["search"];

/** Returns null without search, e.g. for a view: its changes are not recorded for an index. */
export function resolveSearch(
  options: Options,
  resource: SearchedResource,
  indexes: SearchIndexes,
): OpenIndex | null {
  const { table, driver, reader, undeleted, isIndexed } = resource;
  if (indexes.adapter === null || !options.enabled || !table.recordable) return null;
  const fields = resolveFields(options.fields, resource, indexes.adapter.columns);
  if (fields.length === 0) return null;
  const index = {
    name: options.indexName ?? table.label,
    table,
    fields,
    driver,
    reader,
    columns: [...new Set([...table.primaryKey, ...fields.map(({ column }) => column)])],
    undeleted,
    isIndexed,
  };
  return indexes.open(index, options);
}

/** Throws for a hidden field, because a search in this field would reveal its values. */
function resolveFields(
  given: Options["fields"],
  { table, readable, find }: SearchedResource,
  among: ReadonlySet<string> | null,
): readonly SearchField[] {
  // Text search vectors are left out, because a search would also find the word positions in them.
  const isText = ({ kind, databaseType }: ColumnInfo) =>
    (kind === "text" || kind === "json") && databaseType?.configuration === undefined;
  const texts = readable.filter((column) =>
    isText(column) && (among === null || among.has(column.name))
  );
  if (given === undefined) return texts.map((column) => ({ column, weight: 1 }));
  if (isList(given)) {
    const chosen = new Set(given.map((reference) => find(reference, "search.fields")));
    for (const column of chosen) requireSearchable(column, table, readable);
    return readable.filter((column) => chosen.has(column)).map((column) => ({ column, weight: 1 }));
  }
  const weights = new Map(texts.map((column) => [column, 1]));
  for (const [name, { weight, searchable }] of Object.entries(given)) {
    const column = find(name, "search.fields");
    if (searchable) requireSearchable(column, table, readable);
    if (searchable) weights.set(column, weight);
    else weights.delete(column);
  }
  return readable.flatMap((column) => {
    const weight = weights.get(column);
    return weight === undefined ? [] : [{ column, weight }];
  });
}

function requireSearchable(
  column: ColumnInfo,
  { name }: TableInfo,
  readable: readonly ColumnInfo[],
): void {
  const subject = `Cannot serve "${name}": search.fields names "${column.name}", which`;
  if (!readable.includes(column)) throw new Error(`${subject} is not in fields.readable`);
  if (column.kind === "bytes") throw new Error(`${subject} holds bytes`);
}
