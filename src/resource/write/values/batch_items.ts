import type { Filter } from "../../../filter/filter.ts";
import { filterError } from "../../../filter/syntax/filter_error.ts";
import { type Key, type KeyColumns, keyId } from "../../../plan/key.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import { Problem } from "../../../problem/problem.ts";
import {
  invalidField,
  InvalidFields,
  ownMember,
  parseChanges,
  type ParseFields,
  parseKeyFields,
  requireObject,
} from "./parse_fields.ts";
import type { Precondition } from "../../http/etag.ts";
import { parseItemOptimisticId } from "./new_row_values.ts";
import type { Resource } from "../../model/resource.ts";
import type { BodyPath, ResourceRequest } from "../../model/operation.ts";
import { parseBodyFilter, resolveBuiltFilter } from "../../read/user_filter.ts";
import { FailedWrite } from "../refused/failed_write.ts";

export interface KeyedItem {
  readonly index: number;
  readonly bodyPath: BodyPath;
  readonly key: Key;
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
  readonly precondition: Precondition;
  readonly optimisticId: string | null;
}

export function parseItems(body: unknown, limit: number): readonly object[] {
  const items = member(body, "items");
  if (!Array.isArray(items)) throw invalidField("must be a list of objects", "items");
  if (items.length > limit) throw batchTooLarge(limit, "it holds more items");
  return mapItems(items, (item: unknown) => {
    if (typeof item === "object" && item !== null && !Array.isArray(item)) return item;
    throw invalidField("must be an object");
  });
}

export function batchTooLarge(limit: number, excess: string): Problem {
  return new Problem(
    "batch-limit-exceeded",
    `Cannot write this batch: ${excess} than the ${limit} that are allowed`,
    { details: { limit } },
  );
}

export function parseKeyedItems(
  body: unknown,
  resource: Resource,
  { limit, by, parse }: {
    readonly limit: number;
    readonly by: KeyColumns;
    readonly parse: ParseFields;
  },
): readonly KeyedItem[] {
  const seen = new Map<string, number>();
  return mapItems(parseItems(body, limit), (item, index) => {
    const key = parseKeyFields(item, resource, by);
    const id = keyId(key, by);
    const earlier = seen.get(id);
    if (earlier !== undefined) {
      throw invalidField(`names the same row as items.${earlier}`);
    }
    seen.set(id, index);
    const precondition = parseCondition(ownMember(item, "_ifMatch") ?? null, resource);
    const optimisticId = parseItemOptimisticId(item);
    const values = parse(item, resource, conditions);
    return { index, bodyPath: itemPath(index), key, values, precondition, optimisticId };
  });
}

/** Members of an item that are not fields of its row. The caller parses these members. */
const conditions: ReadonlySet<string> = new Set(["_ifMatch"]);

/** Parses a batch's filter. Rejects a batch without a filter, which would write every row. */
export function parseBatchFilter(
  { body, query: { codeFilter } }: Pick<ResourceRequest, "body" | "query">,
  resource: Resource,
): Filter {
  const filter = codeFilter === undefined
    ? parseFilterText(member(body, "filter"), resource)
    : resolveBuiltFilter(codeFilter, resource);
  if (filter === null) {
    throw filterError(0, "a comparison", "Cannot write a batch without a filter: name its rows");
  }
  return filter;
}

function parseFilterText(text: unknown, resource: Resource): Filter | null {
  return typeof text === "string" ? parseBodyFilter(text, resource) : null;
}

export function parsePatch(body: unknown, resource: Resource): ReadonlyMap<ColumnInfo, unknown> {
  const patch = member(body, "patch");
  return atPath(patchPath, () => {
    if (typeof patch !== "object" || patch === null || Array.isArray(patch)) {
      throw invalidField("must be an object");
    }
    const values = parseChanges(patch, resource);
    const key = resource.table.primaryKey.find((column) => values.has(column));
    if (key === undefined) return values;
    throw invalidField("cannot be changed", key.name);
  });
}

export function mapItems<T, Result>(
  items: readonly T[],
  work: (item: T, index: number) => Result,
): Result[] {
  return items.map((item, index) => atPath(itemPath(index), () => work(item, index)));
}

export async function mapItemsInTurn<T extends Pick<KeyedItem, "bodyPath">, Result>(
  items: readonly T[],
  work: (item: T) => Result | Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await atPathAsync(item.bodyPath, () => work(item)));
  return results;
}

function parseCondition(condition: unknown, { etag }: Resource): Precondition {
  if (condition !== null && typeof condition !== "string") {
    throw invalidField("must be a string, like If-Match", "_ifMatch");
  }
  return etag === null ? null : condition;
}

function member(body: unknown, name: string): unknown {
  return ownMember(requireObject(body), name);
}

export function atPath<Result>(bodyPath: BodyPath, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw atBodyPath(error, bodyPath);
  }
}

export async function atPathAsync<Result>(
  bodyPath: BodyPath,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw atBodyPath(error, bodyPath);
  }
}

export function atBodyPath(error: unknown, { path, details }: BodyPath): unknown {
  if (path === "") return error;
  if (error instanceof InvalidFields) {
    const errors = error.errors.map((fault) => ({
      path: fault.path === "" ? path : `${path}.${fault.path}`,
      message: fault.message,
    }));
    return new InvalidFields(errors, { ...error.details, ...details });
  }
  if (error instanceof FailedWrite) {
    const rows = error.rows.map(({ values }) => ({ path, details, values }));
    return new FailedWrite(error, error.resource, rows);
  }
  if (!(error instanceof Problem)) return error;
  const { slug, message, status, headers, cause } = error;
  const all = { ...error.details, ...details };
  return new Problem(slug, message, { status, headers, cause, details: all });
}

export const wholeBody: BodyPath = Object.freeze({ path: "", details: Object.freeze({}) });

export const patchPath: BodyPath = Object.freeze({ path: "patch", details: Object.freeze({}) });

export function itemPath(index: number): BodyPath {
  return { path: `items.${index}`, details: { index } };
}

export function pathInside({ path, details }: BodyPath, name: string): BodyPath {
  const inner = path === "" ? name : `${path}.${name}`;
  return { path: inner, details: { ...details, path: inner } };
}
