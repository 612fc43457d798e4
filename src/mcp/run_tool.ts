import type { ServiceIndex } from "../openapi/service_index.ts";
import { fitRows, shortenValue } from "./tool_answer.ts";
import type { ToolName } from "./tool_definitions.ts";
import {
  requireSuccess,
  type SendToolRequest,
  ToolRefusal,
  type ToolResponse,
} from "./tool_request.ts";

export interface ToolContext {
  readonly send: SendToolRequest;
  /** The base path of the resources, including the path at which the app is mounted. */
  readonly indexBase: string;
  readonly resources: ReadonlyMap<string, ToolResource>;
}

export interface ToolResource {
  /** Percent-encoded path of the resource below the base path: `/books`. */
  readonly path: string;
  readonly key: readonly string[];
  readonly isKeyless: boolean;
  readonly fields: readonly string[];
  readonly hasEtag: boolean;
}

export type ToolArguments = Readonly<Record<string, unknown>>;

const maxRows = 20;

/** The number of fields, besides the key, in the response to a tool call without `select`. */
const defaultFields = 8;

export async function runTool(
  name: ToolName,
  args: ToolArguments,
  context: ToolContext,
): Promise<unknown> {
  return await tools[name](args, context);
}

const tools: Readonly<
  Record<ToolName, (args: ToolArguments, context: ToolContext) => Promise<unknown>>
> = {
  list_resources: listResources,
  describe_resource: describeResource,
  query_rows: (args, context) =>
    args["id"] === undefined ? queryRows(args, context) : oneRow(args, context),
  aggregate,
  search,
  write_row: writeRow,
  delete_row: deleteRow,
  call_procedure: callProcedure,
};

async function indexOf({ send }: ToolContext): Promise<ServiceIndex> {
  // The cast is safe: the body is the service index, which this service has written.
  return requireSuccess(await send({ method: "GET", path: "" })).body as ServiceIndex;
}

async function listResources(args: ToolArguments, context: ToolContext): Promise<unknown> {
  const { resources } = await indexOf(context);
  const names = namesByPath(context);
  const from = Number(args["cursor"] ?? 0) || 0;
  const entries = resources.map(({ path, requests }) => ({
    resource: names(path),
    can: [...new Set(requests.map(({ operation }) => operation))].join(" "),
  }));
  const page = entries.slice(from, from + 100);
  const next = from + page.length;
  return { data: page, nextCursor: next < entries.length ? String(next) : null };
}

function namesByPath({ resources, indexBase }: ToolContext): (path: string) => string {
  const names = new Map([...resources].map(([name, one]) => [indexBase + one.path, name]));
  return (path) => names.get(path) ?? path;
}

async function describeResource(args: ToolArguments, context: ToolContext): Promise<unknown> {
  const resource = resourceOf(args, context);
  const { resources } = await indexOf(context);
  const entry = resources.find(({ path }) => path === context.indexBase + resource.path);
  if (entry === undefined) throw unknownResource(args);
  const names = namesByPath(context);
  return {
    data: {
      resource: args["resource"],
      description: entry.description,
      key: entry.primaryKey,
      fields: entry.fields,
      relations: entry.relations.map(({ name, type, path, filterable }) => ({
        ...{ name, type, resource: names(path), filterable },
      })),
      needsIfMatch: resource.hasEtag,
      operations: entry.requests.map(({ operation }) => operation),
      procedures: entry.requests.filter(({ operation }) => operation === "procedure")
        .map(({ path }) => path.slice(path.lastIndexOf("/") + 1)),
    },
  };
}

async function queryRows(args: ToolArguments, context: ToolContext): Promise<unknown> {
  const resource = resourceOf(args, context);
  const limit = Math.min(maxRows, Number(args["limit"] ?? maxRows));
  const select = listOf(args["select"]) ?? shownFields(resource);
  return await fitRows(limit, async (count) => {
    const query = queryOf({
      ...pick(args, ["filter", "orderBy", "include", "cursor"]),
      select: select.join(","),
      limit: String(count),
    });
    const { body } = await answered(context, resource, query);
    const { items, nextCursor } = Object(body);
    return { data: items, nextCursor };
  });
}

async function oneRow(args: ToolArguments, context: ToolContext): Promise<unknown> {
  const resource = resourceOf(args, context);
  const select = listOf(args["select"]);
  const query = queryOf({
    ...pick(args, ["include"]),
    ...(select === null ? {} : { select: select.join(",") }),
  });
  const path = `${resource.path}/${rowSegment(args, resource)}${query}`;
  const { body, etag } = requireSuccess(await context.send({ method: "GET", path }));
  return shortenValue({ data: body, ...(etag === null ? {} : { etag }) });
}

async function aggregate(args: ToolArguments, context: ToolContext): Promise<unknown> {
  const resource = resourceOf(args, context);
  const lists = ["groupBy", "sum", "avg", "min", "max"].flatMap((name) => {
    const list = listOf(args[name]);
    return list === null ? [] : [[name, list.join(",")] as const];
  });
  const query = queryOf({
    ...Object.fromEntries(lists),
    ...pick(args, ["filter", "having", "orderBy"]),
    ...(args["count"] === true ? { count: "true" } : {}),
    limit: "100",
  });
  const { body } = await answered(context, resource, `/aggregate${query}`);
  return shortenValue({ data: body });
}

async function search(args: ToolArguments, context: ToolContext): Promise<unknown> {
  const resource = resourceOf(args, context);
  const limit = Math.min(maxRows, Number(args["limit"] ?? maxRows));
  return await fitRows(limit, async (count) => {
    const query = queryOf({ ...pick(args, ["q", "filter"]), limit: String(count) });
    const { body } = await answered(context, resource, `/search${query}`);
    const { items, total } = Object(body);
    return { data: items, nextCursor: null, total };
  });
}

async function writeRow(args: ToolArguments, context: ToolContext): Promise<unknown> {
  const resource = resourceOf(args, context);
  const isNew = args["id"] === undefined;
  const on = listOf(args["on"]);
  if (!isNew && on !== null) throw new ToolRefusal("Use either id or on, not both");
  // With `on` (an upsert), the write can update an existing row, so it also needs `If-Match`.
  const condition = isNew && on === null ? {} : conditionOf(args, resource);
  const headers = { ...condition, ...idempotencyOf(args) };
  const collection = resource.path + (on === null ? "" : queryOf({ on: on.join(",") }));
  const { body, etag } = requireSuccess(
    await context.send({
      method: isNew ? "POST" : "PATCH",
      path: isNew ? collection : `${resource.path}/${rowSegment(args, resource)}`,
      body: args["values"],
      headers,
    }),
  );
  return shortenValue({ data: body, ...(etag === null ? {} : { etag }) });
}

async function deleteRow(args: ToolArguments, context: ToolContext): Promise<unknown> {
  const resource = resourceOf(args, context);
  requireSuccess(
    await context.send({
      method: "DELETE",
      path: `${resource.path}/${rowSegment(args, resource)}`,
      headers: conditionOf(args, resource),
    }),
  );
  return { data: { deleted: `${args["resource"]}/${args["id"]}` } };
}

async function callProcedure(args: ToolArguments, context: ToolContext): Promise<unknown> {
  const resource = resourceOf(args, context);
  const name = encodeURIComponent(String(args["procedure"]));
  const path = `${resource.path}/rpc/${name}`;
  const body = args["input"] ?? null;
  return shortenValue(requireSuccess(await context.send({ method: "POST", path, body })).body);
}

async function answered(
  { send }: ToolContext,
  { path }: ToolResource,
  rest: string,
): Promise<ToolResponse> {
  return requireSuccess(await send({ method: "GET", path: path + rest }));
}

function resourceOf(args: ToolArguments, { resources }: ToolContext): ToolResource {
  const found = resources.get(String(args["resource"]));
  if (found === undefined) throw unknownResource(args);
  return found;
}

function unknownResource({ resource }: ToolArguments): ToolRefusal {
  const name = JSON.stringify(String(resource).slice(0, 100));
  return new ToolRefusal(`There is no resource ${name} for this caller: see list_resources`);
}

function shownFields({ key, fields }: ToolResource): readonly string[] {
  const others = fields.filter((field) => !key.includes(field));
  return [...key, ...others.slice(0, defaultFields)];
}

/** Returns `If-Match`, so that the write fails if the row has changed since the model read it. */
function conditionOf(
  { if_match: tag }: ToolArguments,
  { hasEtag }: ToolResource,
): Readonly<Record<string, string>> {
  if (!hasEtag) return {};
  if (typeof tag === "string" && tag !== "*") return { "if-match": tag };
  throw new ToolRefusal(
    "This needs if_match: read the row by query_rows with its id, for its etag",
  );
}

function idempotencyOf({ idempotency_key: key }: ToolArguments): Readonly<Record<string, string>> {
  return typeof key === "string" ? { "idempotency-key": key } : {};
}

/** Returns the path segment that addresses a row. Commas separate the values of a composite key. */
function rowSegment({ id }: ToolArguments, { isKeyless, key }: ToolResource): string {
  if (isKeyless) {
    throw new ToolRefusal("Rows of this resource have no key: find them by a filter, without id");
  }
  // The service ignores a first comma. Without it, the id `count` would be the path `/count`.
  if (key.length === 1) return `,${encodeURIComponent(String(id))}`;
  return String(id).split(",").map(encodeURIComponent).join(",");
}

function pick(args: ToolArguments, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.filter((name) => args[name] !== undefined).map((name) => [name, String(args[name])]),
  );
}

function listOf(value: unknown): readonly string[] | null {
  return Array.isArray(value) ? value.map(String) : null;
}

function queryOf(parameters: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}
