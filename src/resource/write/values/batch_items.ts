import type { Filter } from "../../../filter/filter.ts";
import { filterError } from "../../../filter/syntax/filter_error.ts";
import { type Key, type KeyColumns, keyId } from "../../../plan/key.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import { Problem } from "../../../problem/problem.ts";
import {
  InvalidFields,
  ownMember,
  parseChanges,
  type ParseFields,
  parseKeyFields,
  requireObject,
} from "./parse_fields.ts";
import { itemPath, patchPath, within, withinAsync } from "./body_path.ts";
import type { Precondition } from "../../http/etag.ts";
import { parseItemOptimisticId } from "./optimistic_id.ts";
import type { Resource } from "../../model/resource.ts";
import type { BodyPath, ResourceRequest } from "../../model/operation.ts";
import { parseUserFilter, resolveOwnFilter } from "../../read/user_filter.ts";

/** An item of a batch that names its row by its key. */
export interface NamedItem {
  /** Its index in the batch. */
  readonly index: number;
  /** Where it stands in the body. */
  readonly bodyPath: BodyPath;
  readonly key: Key;
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
  /** Its `_ifMatch`, where the resource has tags. */
  readonly precondition: Precondition;
  /** Its `_optimisticId`: the client's own id of the write. */
  readonly optimisticId: string | null;
}

/** Parses the items of a batch's body, counted before each is parsed. Throws 400 and 422. */
export function parseItems(body: unknown, limit: number): readonly object[] {
  const items = member(body, "items");
  if (!Array.isArray(items)) {
    throw new InvalidFields([{ path: "items", message: "must be a list of objects" }]);
  }
  if (items.length > limit) throw batchTooLarge(limit, "it holds more items");
  return mapItems(items, (item: unknown) => {
    if (typeof item === "object" && item !== null && !Array.isArray(item)) return item;
    throw new InvalidFields([{ path: "", message: "must be an object" }]);
  });
}

/** The 400 for a batch that has more items, or matches more rows, than are allowed. */
export function batchTooLarge(limit: number, what: string): Problem {
  return new Problem(
    "batch-limit-exceeded",
    `Cannot write this batch: ${what} than the ${limit} that are allowed`,
    { details: { limit } },
  );
}

/** How the items of a batch that name their rows are parsed. */
export interface NamedItemsOptions {
  /** The most items. */
  readonly limit: number;
  /** What their keys are of: the primary key, or another unique one. */
  readonly by: KeyColumns;
  /** Parses their fields. */
  readonly parse: ParseFields;
}

/**
 * Parses the items of a batch whose items name their rows. `_ifMatch` and `_optimisticId` belong to
 * their item, and are no fields. Throws a 422 where two items name the same row.
 */
export function parseNamedItems(
  body: unknown,
  resource: Resource,
  { limit, by, parse }: NamedItemsOptions,
): readonly NamedItem[] {
  const seen = new Map<string, number>();
  return mapItems(parseItems(body, limit), (item, index) => {
    const key = parseKeyFields(item, resource, by);
    const id = keyId(key, by);
    const earlier = seen.get(id);
    if (earlier !== undefined) {
      throw new InvalidFields([{ path: "", message: `names the same row as items.${earlier}` }]);
    }
    seen.set(id, index);
    const precondition = parseCondition(ownMember(item, "_ifMatch") ?? null, resource);
    const optimisticId = parseItemOptimisticId(item);
    const values = parse(item, resource, conditions);
    return { index, bodyPath: itemPath(index), key, values, precondition, optimisticId };
  });
}

/** What an item holds beside its fields. */
const conditions: ReadonlySet<string> = new Set(["_ifMatch"]);

/**
 * Parses the filter of a batch that has one instead of items. It is required: a missing filter must
 * not mean every row.
 */
export function parseBatchFilter(
  { body, query: { codeFilter } }: Pick<ResourceRequest, "body" | "query">,
  resource: Resource,
): Filter {
  const filter = codeFilter === undefined
    ? parseFilterText(member(body, "filter"), resource)
    : resolveOwnFilter(codeFilter, resource);
  if (filter === null) {
    throw filterError(0, "a comparison", "Cannot write a batch without a filter: name its rows");
  }
  return filter;
}

function parseFilterText(text: unknown, resource: Resource): Filter | null {
  return typeof text === "string" ? parseUserFilter(text, resource) : null;
}

/**
 * Parses the values that a batch by filter sets in all of its rows; the key cannot be one of them.
 */
export function parsePatch(body: unknown, resource: Resource): ReadonlyMap<ColumnInfo, unknown> {
  const patch = member(body, "patch");
  return within(patchPath, () => {
    if (typeof patch !== "object" || patch === null || Array.isArray(patch)) {
      throw new InvalidFields([{ path: "", message: "must be an object" }]);
    }
    const values = parseChanges(patch, resource);
    const key = resource.table.primaryKey.find((column) => values.has(column));
    if (key === undefined) return values;
    throw new InvalidFields([{ path: key.name, message: "cannot be changed" }]);
  });
}

/** Maps the items of a batch; a Problem that `work` throws names the item. */
export function mapItems<T, Result>(
  items: readonly T[],
  work: (item: T, index: number) => Result,
): Result[] {
  return items.map((item, index) => within(itemPath(index), () => work(item, index)));
}

/** Maps the items of a batch by asynchronous work, one item after the other. */
export async function mapItemsInTurn<T extends Pick<NamedItem, "bodyPath">, Result>(
  items: readonly T[],
  work: (item: T) => Result | Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    results.push(await withinAsync(item.bodyPath, () => work(item)));
  }
  return results;
}

function parseCondition(condition: unknown, { etag }: Resource): Precondition {
  if (condition !== null && typeof condition !== "string") {
    throw new InvalidFields([{ path: "_ifMatch", message: "must be a string, like If-Match" }]);
  }
  return etag === null ? null : condition;
}

function member(body: unknown, name: string): unknown {
  return ownMember(requireObject(body), name);
}
