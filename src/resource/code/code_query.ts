import type { Rule } from "../../filter/rule.ts";
import { nearestName } from "../../problem/nearest_name.ts";
import { showValue } from "../../problem/show_value.ts";
import { parameterText, type Query } from "../http/query_parameters.ts";

export type AnyCallOptions = Readonly<Record<string, unknown>>;

const ofReads: readonly string[] = ["filter", "limit", "orderBy"];

/** The supported options of each operation, besides `signal`. */
const optionsOf = {
  list: [...ofReads, "select", "include", "cursor", "offset", "totalCount", "withDeleted"],
  get: ["select", "include", "ifNoneMatch"],
  count: ["filter", "withDeleted"],
  aggregate: [...ofReads, "groupBy", "count", "sum", "avg", "min", "max", "having"],
  search: ["q", "filter", "limit", "offset", "highlight"],
  create: ["optimisticId", "on", "ifMatch"],
  update: ["optimisticId", "ifMatch"],
  batch: [],
  upsert: ["on"],
  rpc: [],
} satisfies Record<string, readonly string[]>;

export type CallName = keyof typeof optionsOf;

/** Options that become headers of the request. */
const headers: ReadonlySet<string> = new Set(["ifMatch", "ifNoneMatch", "optimisticId"]);

/**
 * Returns the options of a call as query parameters, in which arrays are strings. Throws a
 * TypeError for an unsupported option instead of ignoring it.
 */
export function queryOf(
  name: CallName,
  options: AnyCallOptions,
  ofBatch?: Query["codeFilter"],
): Query {
  const parameters = new Map<string, string>();
  let codeFilter = ofBatch;
  const known: readonly string[] = optionsOf[name];
  for (const [option, value] of Object.entries(options)) {
    if (option === "signal" || value === undefined || value === null) continue;
    if (!known.includes(option)) throw unknownOption(name, option, known);
    if (headers.has(option)) continue;
    if (option !== "filter" && option !== "having") {
      parameters.set(option, parameterText(option, value));
      continue;
    }
    const filter = filterOf(value);
    if (typeof filter === "string") parameters.set(option, filter);
    else if (option === "filter") codeFilter = filter;
    else throw new TypeError("Cannot use this as having: groups are filtered by a text");
  }
  if (codeFilter === undefined) return parameters;
  return Object.assign(parameters, { codeFilter });
}

/**
 * Returns the filter of a call: a string, or a rule from a builder. Throws a TypeError for any
 * other value, because a call without a filter would select every row.
 */
export function filterOf(given: unknown): string | Rule {
  if (typeof given === "string") return given;
  if (typeof given === "object" && given !== null) {
    if ("filter" in given && typeof given.filter === "string") return given.filter;
    // Only the member `kind` of the filter is checked here. Its other members are checked later.
    if ("kind" in given && typeof given.kind === "string") return given as Rule;
  }
  throw new TypeError(`Cannot use ${showValue(given)} as a filter`);
}

function unknownOption(name: string, option: string, known: readonly string[]): TypeError {
  const near = nearestName(option, known);
  const hint = near === null ? "" : `. Did you mean "${near}"?`;
  return new TypeError(`Cannot use the option "${option}": ${name} does not take it${hint}`);
}
