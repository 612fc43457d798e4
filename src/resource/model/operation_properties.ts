import type { ResourceClient } from "../../api/resource_client.ts";
import type { ProblemSlug } from "../../protocol/problem_codes.ts";
import type { AnyApiResource, CodeBatches, CodeCalls } from "./code_api.ts";
import type { OperationName } from "./operation.ts";

/** The name of a function of the client, except for functions that only combine other functions. */
type ClientCall = Exclude<keyof ResourceClient<AnyApiResource>, symbol>;

/** The name of a function with which server-side code calls an operation of a resource. */
type CodeCall =
  | Exclude<keyof CodeCalls<AnyApiResource>, symbol | "batch">
  | `batch.${keyof CodeBatches<AnyApiResource>}`;

/** The reason why the client or server-side code has no function for an operation. */
interface NoCall {
  readonly none: string;
}

/** The properties of an operation that determine its description, scheduling and clients. */
export interface OperationProperties {
  /** The summary of the operation in API descriptions. */
  readonly summary: string;
  /** Requests that scan rows wait in a queue. Reads and writes of rows by key never wait. */
  readonly cost: "keyed" | "scan";
  /** The rows whose version a request can require: none, the row of `If-Match`, or each item. */
  readonly conditional: "none" | "one" | "many";
  /** True if the live events of the write contain the id that the client chose for the write. */
  readonly named: boolean;
  /** The operation's problems, except problems of access, bodies, versions and protection. */
  readonly problems: readonly ProblemSlug[];
  /** The function of the client, or the reason why there is none. */
  readonly client: ClientCall | NoCall;
  /** The function for server-side code, or the reason why there is none. */
  readonly code: CodeCall | NoCall;
}

/** The properties of each operation. The compiler requires an entry for each new operation. */
export const operationProperties: Readonly<Record<OperationName, OperationProperties>> = {
  list: {
    summary: "Lists a page of rows",
    cost: "scan",
    conditional: "none",
    named: false,
    problems: ["filter-parse-error", "cursor-invalid", "query-too-expensive"],
    client: "list",
    code: "list",
  },
  export: {
    summary: "Exports rows",
    cost: "scan",
    conditional: "none",
    named: false,
    problems: [],
    client: { none: "`all` and `pages` return the rows as objects" },
    code: { none: "`all` returns the rows as objects" },
  },
  get: {
    summary: "Gets one row",
    cost: "keyed",
    conditional: "none",
    named: false,
    problems: ["filter-parse-error", "query-too-expensive"],
    client: "get",
    code: "get",
  },
  count: {
    summary: "Counts rows",
    cost: "scan",
    conditional: "none",
    named: false,
    problems: ["filter-parse-error", "query-too-expensive"],
    client: "count",
    code: "count",
  },
  aggregate: {
    summary: "Aggregates rows",
    cost: "scan",
    conditional: "none",
    named: false,
    problems: ["filter-parse-error", "query-too-expensive"],
    client: "aggregate",
    code: "aggregate",
  },
  search: {
    summary: "Searches rows by words, the best first",
    cost: "scan",
    conditional: "none",
    named: false,
    problems: ["filter-parse-error", "query-too-expensive", "search-unavailable"],
    client: "search",
    code: "search",
  },
  create: {
    summary: "Creates a row",
    cost: "keyed",
    conditional: "none",
    named: true,
    problems: [],
    client: "create",
    code: "create",
  },
  update: {
    summary: "Changes fields of a row",
    cost: "keyed",
    conditional: "one",
    named: true,
    problems: [],
    client: "update",
    code: "update",
  },
  replace: {
    summary: "Replaces a row: omitted fields get their default or null",
    cost: "keyed",
    conditional: "one",
    named: true,
    problems: [],
    client: "replace",
    code: "replace",
  },
  delete: {
    summary: "Deletes a row",
    cost: "keyed",
    conditional: "one",
    named: true,
    problems: [],
    client: "delete",
    code: "delete",
  },
  restore: {
    summary: "Restores a row that is marked deleted",
    cost: "keyed",
    conditional: "one",
    named: true,
    problems: ["validation-error"],
    client: "restore",
    code: "restore",
  },
  import: {
    summary: "Creates the rows of a body of any length",
    cost: "scan",
    conditional: "none",
    named: false,
    problems: [],
    client: "import",
    code: { none: "`batch.create` takes rows, and the command line imports files" },
  },
  "batch-create": {
    summary: "Creates rows, all or none",
    cost: "scan",
    conditional: "none",
    named: false,
    problems: ["batch-limit-exceeded"],
    client: "createBatch",
    code: "batch.create",
  },
  "batch-update": {
    summary: "Changes all rows that a filter matches",
    cost: "scan",
    conditional: "none",
    named: false,
    problems: ["filter-parse-error", "batch-limit-exceeded"],
    client: "updateBatch",
    code: "batch.update",
  },
  "batch-replace": {
    summary: "Replaces rows, all or none",
    cost: "scan",
    conditional: "many",
    named: false,
    problems: ["batch-limit-exceeded"],
    client: "replaceBatch",
    code: "batch.replace",
  },
  "batch-delete": {
    summary: "Deletes all rows that a filter matches",
    cost: "scan",
    conditional: "none",
    named: false,
    problems: ["filter-parse-error", "batch-limit-exceeded"],
    client: "deleteBatch",
    code: "batch.delete",
  },
  upsert: {
    summary: "Changes the rows that exist and creates the others, all or none",
    cost: "scan",
    conditional: "many",
    named: false,
    problems: ["batch-limit-exceeded"],
    client: "upsertBatch",
    code: "batch.upsert",
  },
  procedure: {
    summary: "Calls a procedure",
    cost: "keyed",
    conditional: "none",
    named: false,
    problems: [],
    client: "rpc",
    code: "rpc",
  },
  subscribe: {
    summary: "Streams rows, then their changes",
    cost: "scan",
    conditional: "none",
    named: false,
    problems: ["filter-parse-error", "query-too-expensive", "rate-limit-exceeded"],
    client: { none: "`liveList` follows rows" },
    code: { none: "a stream has a client over HTTP" },
  },
  "subscribe-aggregate": {
    summary: "Streams aggregates whenever they change",
    cost: "scan",
    conditional: "none",
    named: false,
    problems: ["filter-parse-error", "query-too-expensive", "rate-limit-exceeded"],
    client: { none: "`liveAggregate` follows groups" },
    code: { none: "a stream has a client over HTTP" },
  },
};
