/** What a page of hits ends with, for the next one to begin after. */
export type Sort = readonly unknown[];

/** A hit of a search. */
export interface Hit {
  readonly id: string;
  readonly sort: Sort;
}

/** What an index says about itself. */
export interface IndexFacts {
  /** The index itself, which may be reached by the name of an alias. */
  readonly name: string;
  /** The server's own mark of it: one that is made again by the same name has another. */
  readonly uuid: string;
  readonly aliases: readonly string[];
  /** Null if no service has made it; `filled` is the uuid that it had when it was filled. */
  readonly meta: { readonly shape: unknown; readonly filled: unknown } | null;
  /** The names of its fields. */
  readonly fields: readonly string[];
}

/** What one line of a bulk request asks for. */
export interface BulkTarget {
  readonly operation: "index" | "delete";
  readonly id: string;
}

/** What became of a bulk request. */
export interface BulkOutcome {
  /** The reasons of the documents that are not confirmed. */
  readonly failures: readonly string[];
  /** True if the index that was written to is missing, or is another one. */
  readonly isLost: boolean;
}

/** Reads the hits of an answer. Throws a plain Error where it does not confirm that these are all. */
export function hitsOf(body: unknown): readonly Hit[] {
  if (!isFromAllShards(body) || member(body, "timed_out") !== false) {
    throw new Error("OpenSearch did not answer for all of its shards");
  }
  return requiredList(member(member(body, "hits"), "hits")).map((hit) => {
    const id = member(hit, "_id");
    if (typeof id !== "string") throw strange;
    return { id, sort: requiredList(member(hit, "sort")) };
  });
}

/** Returns true if an answer confirms that every shard, of one at least, has done its part. */
export function isFromAllShards(body: unknown): boolean {
  const { total, successful, failed } = Object(member(body, "_shards"));
  return typeof total === "number" && total > 0 && failed === 0 && successful > 0;
}

/** Returns true if an answer is the server's own that there is no such index. */
export function isMissingIndex(body: unknown): boolean {
  return member(member(body, "error"), "type") === "index_not_found_exception";
}

/** Reads what the indexes of a name say about themselves. Throws a plain Error for anything else. */
export function indexFacts(body: unknown): readonly IndexFacts[] {
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw strange;
  return Object.entries(body).map(([name, facts]) => {
    const mappings = member(facts, "mappings");
    if (typeof mappings !== "object" || mappings === null) throw strange;
    const service = member(member(mappings, "_meta"), "service");
    const meta = service === undefined
      ? null
      : { shape: member(service, "shape"), filled: member(service, "filled") };
    return {
      ...{ name, uuid: uuidOf(facts), meta },
      aliases: Object.keys(Object(member(facts, "aliases"))),
      fields: Object.keys(Object(member(mappings, "properties"))),
    };
  });
}

/** Reads the uuid among the settings of an index. Throws a plain Error where there is none. */
export function uuidOf(facts: unknown): string {
  const uuid = member(member(member(facts, "settings"), "index"), "uuid");
  if (typeof uuid !== "string") throw strange;
  return uuid;
}

/** Throws a plain Error unless the server confirms that it has done what it was asked for. */
export function requireAcknowledged(body: unknown): void {
  if (member(body, "acknowledged") !== true) throw strange;
}

/** Returns true if an answer is that of a server of OpenSearch about itself. */
export function isServer(body: unknown): boolean {
  return typeof member(member(body, "version"), "number") === "string";
}

/**
 * Reads what became of each document of a bulk request to `index`: only those are written that the
 * answer confirms one by one. That there is a newer one, or none to delete, is no failure.
 */
export function bulkOutcome(
  body: unknown,
  targets: readonly BulkTarget[],
  index: string,
): BulkOutcome {
  const items: readonly unknown[] = requiredList(member(body, "items"));
  if (items.length !== targets.length) throw strange;
  let isLost = false;
  const failures = targets.flatMap(({ operation, id }, position) => {
    const result = member(items[position], operation);
    const error = member(member(result, "error"), "type");
    const status = member(result, "status");
    if (status === 404 && error === "index_not_found_exception") isLost = true;
    else if (typeof member(result, "_index") === "string" && member(result, "_index") !== index) {
      // A version conflict names the alias's index as well.
      isLost = true;
    } else if (member(result, "_id") === id && isDone(result, operation)) return [];
    return [`${status} ${error}`];
  });
  return { failures, isLost };
}

function isDone(result: unknown, operation: BulkTarget["operation"]): boolean {
  const error = member(member(result, "error"), "type");
  const outcome = member(result, "result");
  switch (member(result, "status")) {
    case 200:
    case 201:
      return operation === "delete"
        ? outcome === "deleted"
        : outcome === "created" || outcome === "updated";
    case 404:
      return operation === "delete" && outcome === "not_found";
    case 409:
      return error === "version_conflict_engine_exception";
    default:
      return false;
  }
}

const strange = new Error(
  "What answers is no OpenSearch: it does not confirm what it was asked for",
);

/** A member of what may be anything. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function requiredList(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw strange;
  return value;
}
