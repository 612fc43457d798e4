/** The sort values of a page's last hit. The next page begins after them. */
export type SortValues = readonly unknown[];

export interface Hit {
  readonly id: string;
  readonly sort: SortValues;
}

export interface IndexMetadata {
  /** The name of the index itself, not of an alias for it. */
  readonly name: string;
  /** The server's id of the index. An index that is created again has another id. */
  readonly uuid: string;
  readonly aliases: readonly string[];
  /** Null for an index of another program or an old version. `filled` is `uuid` once complete. */
  readonly meta: { readonly shape: unknown; readonly filled: unknown } | null;
  readonly fields: readonly string[];
}

export interface BulkTarget {
  readonly operation: "index" | "delete";
  readonly id: string;
}

export function readHits(body: unknown): readonly Hit[] {
  if (!isFromAllShards(body) || member(body, "timed_out") !== false) {
    throw new Error("OpenSearch did not answer for all of its shards");
  }
  return requiredList(member(member(body, "hits"), "hits")).map((hit) => {
    const id = member(hit, "_id");
    if (typeof id !== "string") throw strange;
    return { id, sort: requiredList(member(hit, "sort")) };
  });
}

export function isFromAllShards(body: unknown): boolean {
  const { total, successful, failed } = Object(member(body, "_shards"));
  return typeof total === "number" && total > 0 && failed === 0 && successful > 0;
}

/** Returns true if the server says that the index does not exist, as opposed to a proxy's 404. */
export function isMissingIndex(body: unknown): boolean {
  return member(member(body, "error"), "type") === "index_not_found_exception";
}

export function readIndexMetadata(body: unknown): readonly IndexMetadata[] {
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw strange;
  return Object.entries(body).map(([name, facts]) => {
    const mappings = member(facts, "mappings");
    if (typeof mappings !== "object" || mappings === null) throw strange;
    const service = member(member(mappings, "_meta"), "service");
    const meta = service === undefined
      ? null
      : { shape: member(service, "shape"), filled: member(service, "filled") };
    return {
      ...{ name, uuid: readIndexUuid(facts), meta },
      aliases: Object.keys(Object(member(facts, "aliases"))),
      fields: Object.keys(Object(member(mappings, "properties"))),
    };
  });
}

export function readIndexUuid(facts: unknown): string {
  const uuid = member(member(member(facts, "settings"), "index"), "uuid");
  if (typeof uuid !== "string") throw strange;
  return uuid;
}

export function requireAcknowledged(body: unknown): void {
  if (member(body, "acknowledged") !== true) throw strange;
}

/** Returns the results of a bulk request. A newer version in the index counts as success. */
export function readBulkOutcome(body: unknown, targets: readonly BulkTarget[], index: string) {
  const items: readonly unknown[] = requiredList(member(body, "items"));
  if (items.length !== targets.length) throw strange;
  let isLost = false;
  const failures = targets.flatMap(({ operation, id }, position) => {
    const result = member(items[position], operation);
    const error = member(member(result, "error"), "type");
    const status = member(result, "status");
    if (status === 404 && error === "index_not_found_exception") isLost = true;
    else if (typeof member(result, "_index") === "string" && member(result, "_index") !== index) {
      // The response names another index than the prepared one, so the prepared index is missing.
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

export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function requiredList(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw strange;
  return value;
}
