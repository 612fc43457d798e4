import { changeQuery } from "../shell/route.ts";
import { joinNames, splitNames } from "../service/names.ts";
import {
  type FieldFacts,
  listableFields,
  type ResourceDescription,
  shownFields,
} from "../service/facts.ts";

/** Which rows a list has, in which order, and which fields: all of it is in the URL. */
export interface ListQuery {
  readonly filter: string;
  /** As requests have it: `-rating,title`. */
  readonly orderBy: string;
  /** Names of the fields that are shown; null for all. */
  readonly columns: readonly string[] | null;
  readonly withDeleted: boolean;
}

/** Reads the query of a list from the URL, its columns otherwise from what the browser remembers. */
export function readListQuery({ path }: ResourceDescription, query: URLSearchParams): ListQuery {
  const columns = query.get("columns") ?? remembered(path);
  return {
    filter: query.get("filter") ?? "",
    orderBy: query.get("orderBy") ?? "",
    columns: columns === null || columns === "" ? null : splitNames(columns),
    withDeleted: query.get("deleted") === "1",
  };
}

/** The fields that a query shows, in its order: those of every row, where it names none. */
export function fieldsOf(
  resource: ResourceDescription,
  { columns }: ListQuery,
): readonly FieldFacts[] {
  const byName = new Map(listableFields(resource).map((field) => [field.name, field]));
  const chosen = (columns ?? []).flatMap((name) => byName.get(name) ?? []);
  return chosen.length === 0 ? shownFields(resource) : chosen;
}

/** Shows these columns of a resource alone, from now on; null shows all. */
export function chooseColumns(
  { path }: ResourceDescription,
  columns: readonly string[] | null,
): void {
  const text = columns && joinNames(columns);
  try {
    if (text === null) localStorage.removeItem(storageKey(path));
    else localStorage.setItem(storageKey(path), text);
  } catch {
    // Where nothing can be stored the URL alone remembers them.
  }
  changeQuery({ columns: text }, "replace");
}

function remembered(path: string): string | null {
  try {
    return localStorage.getItem(storageKey(path));
  } catch {
    return null;
  }
}

function storageKey(path: string): string {
  return `dashboard columns ${path}`;
}
