import type { ResourceClient } from "../../api/resource_client.ts";
import type { ProblemSlug } from "../../protocol/problem_codes.ts";
import type { AnyApiResource, CodeBatches, CodeCalls } from "./code_api.ts";
import type { OperationName } from "./operation.ts";

/** The name of a client function, except for functions that only combine other functions. */
type ClientCall = Exclude<keyof ResourceClient<AnyApiResource>, symbol>;

/** The name of a function with which server-side code calls an operation of a resource. */
type CodeCall =
  | Exclude<keyof CodeCalls<AnyApiResource>, symbol | "batch">
  | `batch.${keyof CodeBatches<AnyApiResource>}`;

/** The reason why the client or server-side code has no function for an operation. */
interface NoCall {
  readonly none: string;
}

/** The properties of an operation for API descriptions, for scheduling and for clients. */
export interface OperationProperties {
  readonly summary: string;
  /** Operations that scan rows (`scan`) can wait in a queue. Access by key never waits. */
  readonly cost: "keyed" | "scan";
  /** The rows for which a request can require a version: none, one by `If-Match`, or each item. */
  readonly conditional: "none" | "one" | "many";
  /** True if the client can name the write by an id that the live events of the write repeat. */
  readonly named: boolean;
  /** The problem codes of the operation, except those of access, body, versions and protection. */
  readonly problems: readonly ProblemSlug[];
  /** The function of the client, or the reason why there is none. */
  readonly client: ClientCall | NoCall;
  /** The function for server-side code, or the reason why there is none. */
  readonly code: CodeCall | NoCall;
}

const scan = { cost: "scan", conditional: "none", named: false, problems: [] } as const;
/** An operation that uses rows by their keys, or no rows. */
const keyed = { ...scan, cost: "keyed" } as const;
/** A write of the row in the path. */
const ofRow = { ...keyed, conditional: "one", named: true } as const;

/** The properties of each operation. The compiler requires an entry for each new operation. */
export const operationProperties: Readonly<Record<OperationName, OperationProperties>> = {
  list: {
    ...scan,
    summary: "Lists a page of rows",
    problems: ["filter-parse-error", "cursor-invalid", "query-too-expensive"],
    ...{ client: "list", code: "list" },
  },
  query: {
    ...scan,
    summary: "Lists a page of rows, with parameters in the body",
    problems: ["filter-parse-error", "cursor-invalid", "query-too-expensive"],
    client: { none: "`list` sends a long query in a body" },
    code: { none: "`list` has no URL whose length is limited" },
  },
  export: {
    ...scan,
    summary: "Exports rows",
    client: { none: "`all` and `pages` return the rows as objects" },
    code: { none: "`all` returns the rows as objects" },
  },
  get: {
    ...keyed,
    summary: "Gets one row",
    problems: ["filter-parse-error", "query-too-expensive"],
    ...{ client: "get", code: "get" },
  },
  count: {
    ...scan,
    summary: "Counts rows",
    problems: ["filter-parse-error", "query-too-expensive"],
    ...{ client: "count", code: "count" },
  },
  aggregate: {
    ...scan,
    summary: "Aggregates rows",
    problems: ["filter-parse-error", "query-too-expensive"],
    ...{ client: "aggregate", code: "aggregate" },
  },
  search: {
    ...scan,
    summary: "Searches rows by words, the best first",
    problems: ["filter-parse-error", "query-too-expensive", "search-unavailable"],
    ...{ client: "search", code: "search" },
  },
  create: {
    ...keyed,
    named: true,
    summary: "Creates a row",
    ...{ client: "create", code: "create" },
  },
  update: { ...ofRow, summary: "Changes fields of a row", ...{ client: "update", code: "update" } },
  replace: {
    ...ofRow,
    summary: "Replaces a row: omitted fields get their default or null",
    ...{ client: "replace", code: "replace" },
  },
  delete: { ...ofRow, summary: "Deletes a row", ...{ client: "delete", code: "delete" } },
  restore: {
    ...ofRow,
    summary: "Restores a row that is marked deleted",
    problems: ["validation-error"],
    ...{ client: "restore", code: "restore" },
  },
  import: {
    ...scan,
    summary: "Creates the rows of a body of any length",
    client: "import",
    code: { none: "`batch.create` takes rows, and the command line imports files" },
  },
  "batch-create": {
    ...scan,
    summary: "Creates rows, all or none",
    problems: ["batch-limit-exceeded"],
    ...{ client: "createBatch", code: "batch.create" },
  },
  "batch-update": {
    ...scan,
    summary: "Changes all rows that a filter matches",
    problems: ["filter-parse-error", "batch-limit-exceeded"],
    ...{ client: "updateBatch", code: "batch.update" },
  },
  "batch-replace": {
    ...scan,
    conditional: "many",
    summary: "Replaces rows, all or none",
    problems: ["batch-limit-exceeded"],
    ...{ client: "replaceBatch", code: "batch.replace" },
  },
  "batch-delete": {
    ...scan,
    summary: "Deletes all rows that a filter matches",
    problems: ["filter-parse-error", "batch-limit-exceeded"],
    ...{ client: "deleteBatch", code: "batch.delete" },
  },
  upsert: {
    ...scan,
    conditional: "many",
    summary: "Changes the rows that exist and creates the others, all or none",
    problems: ["batch-limit-exceeded"],
    ...{ client: "upsertBatch", code: "batch.upsert" },
  },
  procedure: { ...keyed, summary: "Calls a procedure", ...{ client: "rpc", code: "rpc" } },
  subscribe: {
    ...scan,
    summary: "Streams rows, then their changes",
    problems: ["filter-parse-error", "query-too-expensive", "rate-limit-exceeded"],
    client: { none: "`liveList` follows rows" },
    code: { none: "a stream has a client over HTTP" },
  },
  "subscribe-aggregate": {
    ...scan,
    summary: "Streams aggregates whenever they change",
    problems: ["filter-parse-error", "query-too-expensive", "rate-limit-exceeded"],
    client: { none: "`liveAggregate` follows groups" },
    code: { none: "a stream has a client over HTTP" },
  },
};
