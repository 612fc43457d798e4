import type { ProblemSlug } from "../../protocol/problem_codes.ts";
import type { OperationName } from "./operation.ts";

export interface OperationProperties {
  readonly summary: string;
  /** Operations that scan rows (`scan`) can wait in a queue. Access by key never waits. */
  readonly cost: "keyed" | "scan";
  /** The number of ETag conditions in a request: none, one (`If-Match`), or one for each item. */
  readonly conditional: "none" | "one" | "many";
  /** True if the client can choose an id for the write. Live events of the write contain the id. */
  readonly named: boolean;
  readonly problems: readonly ProblemSlug[];
}

const scan = { cost: "scan", conditional: "none", named: false, problems: [] } as const;
const keyed = { ...scan, cost: "keyed" } as const;
const filtered = { ...scan, problems: ["filter-parse-error", "query-too-expensive"] } as const;
const batch = { ...scan, problems: ["batch-limit-exceeded"] } as const;
const ofRow = { ...keyed, conditional: "one", named: true } as const;

export const operationProperties: Readonly<Record<OperationName, OperationProperties>> = {
  list: {
    ...scan,
    summary: "Lists a page of rows",
    problems: [...filtered.problems, "cursor-invalid"],
  },
  query: {
    ...scan,
    summary: "Lists a page of rows, with parameters in the body",
    problems: [...filtered.problems, "cursor-invalid"],
  },
  export: { ...scan, summary: "Exports rows" },
  get: { ...filtered, cost: "keyed", summary: "Gets one row" },
  count: { ...filtered, summary: "Counts rows" },
  aggregate: { ...filtered, summary: "Aggregates rows" },
  search: {
    ...scan,
    summary: "Searches rows by words, the best first",
    problems: [...filtered.problems, "search-unavailable"],
  },
  create: { ...keyed, named: true, summary: "Creates a row" },
  update: { ...ofRow, summary: "Changes fields of a row" },
  replace: { ...ofRow, summary: "Replaces a row: omitted fields get their default or null" },
  delete: { ...ofRow, summary: "Deletes a row" },
  restore: {
    ...ofRow,
    summary: "Restores a row that is marked deleted",
    problems: ["validation-error"],
  },
  history: {
    ...scan,
    summary: "Lists the versions of a row, the newest first",
    problems: ["cursor-invalid", "query-too-expensive"],
  },
  revert: { ...ofRow, summary: "Changes a row back to one of its versions" },
  import: { ...scan, summary: "Creates the rows of a body of any length" },
  "batch-create": { ...batch, summary: "Creates rows, all or none" },
  "batch-update": {
    ...scan,
    summary: "Changes all rows that a filter matches",
    problems: ["filter-parse-error", "batch-limit-exceeded"],
  },
  "batch-replace": { ...batch, conditional: "many", summary: "Replaces rows, all or none" },
  "batch-delete": {
    ...scan,
    summary: "Deletes all rows that a filter matches",
    problems: ["filter-parse-error", "batch-limit-exceeded"],
  },
  upsert: {
    ...batch,
    conditional: "many",
    summary: "Changes the rows that exist and creates the others, all or none",
  },
  procedure: { ...keyed, summary: "Calls a procedure" },
  subscribe: {
    ...scan,
    summary: "Streams rows, then their changes",
    problems: [...filtered.problems, "rate-limit-exceeded"],
  },
  "subscribe-aggregate": {
    ...scan,
    summary: "Streams aggregates whenever they change",
    problems: [...filtered.problems, "rate-limit-exceeded"],
  },
};
