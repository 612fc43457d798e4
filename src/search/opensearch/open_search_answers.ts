/** What a page of hits ends with, for the next one to begin after. */
export type Sort = readonly unknown[];

/** A hit of a search. */
export interface Hit {
  readonly id: string;
  readonly sort: Sort;
}

/** Reads the hits of an answer. Throws a plain Error where some shards did not answer. */
export function hitsOf(body: unknown): readonly Hit[] {
  if (member(member(body, "_shards"), "failed") !== 0 || member(body, "timed_out") === true) {
    throw new Error("OpenSearch did not answer for all of its shards");
  }
  return listOf(member(member(body, "hits"), "hits")).map((hit) => ({
    id: String(member(hit, "_id")),
    sort: listOf(member(hit, "sort")),
  }));
}

/** What an index says about itself; null where no service has made it. */
export function metaOf(
  body: unknown,
  index: string,
): { readonly shape: unknown; readonly isFilled: boolean } | null {
  const mappings = member(member(body, index), "mappings");
  const service = member(member(mappings, "_meta"), "service");
  if (service === undefined) return null;
  return { shape: member(service, "shape"), isFilled: member(service, "isFilled") === true };
}

/**
 * The reasons of the documents that a bulk request failed for. That there is a newer one, or none to
 * delete, is no failure.
 */
export function bulkFailures(body: unknown): readonly string[] {
  return listOf(member(body, "items")).flatMap((item) => {
    const result = member(item, "index") ?? member(item, "delete");
    const status = Number(member(result, "status"));
    if (status < 300 || status === 409 || status === 404 && member(item, "delete") !== undefined) {
      return [];
    }
    return [`${status} ${String(member(member(result, "error"), "type"))}`];
  });
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
