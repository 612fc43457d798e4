import { isWhole } from "../../schema/kinds/kind_properties.ts";
import { noDebit } from "../../guard/budget/debit.ts";
import { formatKey } from "../../plan/key.ts";
import { showValue } from "../../problem/show_value.ts";
import type { CodeCaller, Resource } from "../model/resource.ts";
import { parameterText, type Query } from "../http/query_parameters.ts";
import type { ResourceRequest, ShapedReply } from "../model/operation.ts";
import type { Rule } from "../../filter/rule.ts";
import { nearestName } from "../../problem/nearest_name.ts";
import type { AnyApiResource, CodeBatches, CodeCalls } from "../model/code_api.ts";
import { DataReply } from "../http/json_reply.ts";
import { copyBody } from "./copy_body.ts";

export interface CodeCall {
  readonly name: CallName;
  readonly options: AnyCallOptions;
  readonly key?: { readonly value: unknown };
  readonly body?: unknown;
  /** The filter of a batch, if the caller passes an object. A string filter is in `body`. */
  readonly filter?: Query["codeFilter"];
}

/** Creates a request without a budget and client address. The service does not store its reply. */
export function codeRequest(
  call: CodeCall,
  caller: CodeCaller,
  resource: Resource,
): ResourceRequest {
  const { name, options, key, body, filter } = call;
  return {
    segment: key === undefined ? "" : segmentOf(key.value, resource),
    query: queryOf(name, options, filter),
    body,
    header: (header) => {
      const { ifMatch, ifNoneMatch, optimisticId } = options;
      const value = header === "if-match"
        ? ifMatch
        : header === "if-none-match"
        ? ifNoneMatch
        : header === "service-optimistic-id"
        ? optimisticId
        : null;
      return value === undefined || value === null ? null : String(value);
    },
    address: () => null,
    debit: noDebit,
    raw: caller.raw,
    signal: () => signalOf(options, caller),
    delivery: null,
    code: caller,
    safeNumbers: false,
    record: null,
  };
}

export function segmentOf(key: unknown, { table }: Resource): string {
  // The value of a single key column can itself be an array.
  const values: unknown[] = table.primaryKey.length === 1 ? [key] : [key].flat();
  if (values.some((value) => value === undefined || value === null)) {
    throw new TypeError(`Cannot use ${showValue(key)} as the key of a row`);
  }
  values.forEach((value, index) => {
    const column = table.primaryKey[index];
    if (
      column !== undefined && isWhole(column) && Number.isInteger(value) &&
      !Number.isSafeInteger(value)
    ) {
      throw new TypeError(`Give the key ${value} as a string or a bigint: a number rounds it`);
    }
  });
  return formatKey(values, table.primaryKey);
}

function signalOf({ signal }: AnyCallOptions, { raw }: CodeCaller): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  return raw?.signal ?? new AbortController().signal;
}

type AnyCallOptions = Readonly<Record<string, unknown>>;

const ofReads: readonly string[] = ["filter", "limit", "orderBy"];

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

type CallName = keyof typeof optionsOf;

const headers: ReadonlySet<string> = new Set(["ifMatch", "ifNoneMatch", "optimisticId"]);

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
    else throw new TypeError("Cannot use this as having: groups are filtered by a string");
  }
  if (codeFilter === undefined) return parameters;
  return Object.assign(parameters, { codeFilter });
}

/** Throws a TypeError for an invalid filter, because a call without a filter selects all rows. */
export function filterOf(given: unknown): string | Rule {
  if (typeof given === "string") return given;
  if (typeof given === "object" && given !== null) {
    if ("filter" in given && typeof given.filter === "string") return given.filter;
    // Only `kind` is checked here. The other members are checked later.
    if ("kind" in given && typeof given.kind === "string") return given as Rule;
  }
  throw new TypeError(`Cannot use ${showValue(given)} as a filter`);
}

function unknownOption(name: string, option: string, known: readonly string[]): TypeError {
  const near = nearestName(option, known);
  const hint = near === null ? "" : `. Did you mean "${near}"?`;
  return new TypeError(`Cannot use the option "${option}": ${name} does not take it${hint}`);
}

/** Runs the operation of one route. `route` is the method and the path, such as `GET /count`. */
type RunCall = (route: string, call: CodeCall) => Promise<ShapedReply>;

/** Returns the functions of `CodeCalls`, untyped, because results of operations are untyped. */
export function createCodeCalls(run: RunCall) {
  const read = (name: CodeCall["name"], route: string) => async (options: AnyCallOptions = {}) =>
    dataOf(await run(route, { name, options }));

  const list = read("list", "GET /");
  const count = read("count", "GET /count");

  const write =
    (route: string) => async (key: unknown, values: unknown, options: AnyCallOptions = {}) =>
      tagged(
        await run(route, { name: "update", options, key: { value: key }, body: copyBody(values) }),
      );

  const ofItems =
    (route: string, name: CodeCall["name"] = "batch") =>
    async (items: unknown, options: AnyCallOptions = {}) => {
      const body = { items: copyBody(items) };
      return member(await run(route, { name, options, body }), "items");
    };

  const ofFilter =
    (route: string) => async (filter: unknown, patch: unknown, options: AnyCallOptions = {}) => {
      const given = filterOf(filter);
      const isText = typeof given === "string";
      const body = { filter: isText ? given : undefined, patch: copyBody(patch) };
      const call: CodeCall = { name: "batch", options, body, ...(isText ? {} : { filter: given }) };
      return member(await run(route, call), "count");
    };

  const deleteMatching = ofFilter("DELETE /batch");

  return {
    list,
    async *all(options: AnyCallOptions = {}) {
      let from: AnyCallOptions = {};
      do {
        // `list` returns a page with these members.
        const page = await list({ ...options, ...from }) as {
          readonly items: readonly unknown[];
          readonly nextCursor: string | null;
        };
        yield* page.items;
        from = { cursor: page.nextCursor, offset: undefined };
      } while (from["cursor"] !== null);
    },
    get: async (key: unknown, options: AnyCallOptions = {}) =>
      tagged(await run("GET /:id", { name: "get", options, key: { value: key } })),
    count: async (options?: AnyCallOptions) => memberOf(await count(options), "count"),
    aggregate: read("aggregate", "GET /aggregate"),
    search: read("search", "GET /search"),
    create: async (values: unknown, options: AnyCallOptions = {}) =>
      tagged(await run("POST /", { name: "create", options, body: copyBody(values) })),
    update: write("PATCH /:id"),
    replace: write("PUT /:id"),
    delete: async (key: unknown, options: AnyCallOptions = {}) =>
      void await run("DELETE /:id", { name: "update", options, key: { value: key } }),
    restore: async (key: unknown, options: AnyCallOptions = {}) =>
      tagged(await run("POST /:id/restore", { name: "update", options, key: { value: key } })),
    batch: {
      create: ofItems("POST /batch"),
      update: ofFilter("PATCH /batch"),
      replace: ofItems("PUT /batch"),
      delete: (filter: unknown, options?: AnyCallOptions) =>
        deleteMatching(filter, undefined, options),
      upsert: ofItems("POST /batch/upsert", "upsert"),
    } satisfies Record<keyof CodeBatches<AnyApiResource>, unknown>,
    rpc: new Proxy({}, {
      get: (_none, name) => async (input: unknown = {}, options: AnyCallOptions = {}) => {
        const call: CodeCall = { name: "rpc", options, body: copyBody(input) };
        return member(await run(`POST /rpc/${String(name)}`, call), "data");
      },
    }),
  } satisfies Record<keyof CodeCalls<AnyApiResource>, unknown>;
}

function dataOf(reply: ShapedReply): unknown {
  return reply instanceof DataReply ? reply.fittingData() : null;
}

function tagged(reply: ShapedReply): { readonly value: unknown; readonly etag: string | null } {
  return { value: dataOf(reply), etag: reply.headers["etag"] ?? null };
}

function member(reply: ShapedReply, name: string): unknown {
  return memberOf(dataOf(reply), name);
}

function memberOf(data: unknown, name: string): unknown {
  return Object(data)[name];
}
