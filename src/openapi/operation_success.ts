import type { JsonSchema } from "../protocol/route_description.ts";
import type { Resource } from "../resource/model/resource.ts";
import { mayUpsert } from "../resource/write/upsert/unique_key.ts";
import type { OperationName } from "../resource/model/operation.ts";
import type { Route } from "../resource/routes/endpoint.ts";
import { describeProcedure } from "./procedure_schema.ts";
import { schemaRef } from "./row_schemas.ts";
import type { OpenapiInput } from "./openapi_input.ts";
import { responseColumnSchema } from "./column_json_schema.ts";

interface Success {
  readonly status: number;
  readonly description: string;
  readonly content?: JsonSchema;
  readonly headers?: JsonSchema;
}

interface SuccessOf {
  readonly route: Route;
  readonly resource: Resource;
  readonly name: string;
}

/** Returns the descriptions of a route's successful responses, by status. */
export function successResponses(
  { route, resource, name }: SuccessOf,
  procedure: string | null,
  { isIdempotent }: OpenapiInput,
): JsonSchema {
  const { endpoint, method } = route;
  const success = successes(endpoint.name, resource, name, procedure);
  const { status, description, content } = success;
  const headers = {
    ...success.headers,
    ...(isLimited(route, resource) ? limitHeaders : {}),
    ...(isIdempotent && method !== "GET" ? { "Idempotency-Replayed": text } : {}),
  };
  return {
    [status]: {
      description,
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...(content === undefined ? {} : { content }),
    },
    ...(endpoint.name === "create" && mayUpsert(resource)
      ? { 200: changedInstead(headers, content) }
      : {}),
    ...(endpoint.name === "get" && resource.etag !== null
      ? { 304: { description: "The row is as `If-None-Match` says.", headers: { ETag: text } } }
      : {}),
  };
}

/** Returns the response of a create that instead updates a row with an equal unique key. */
function changedInstead(
  { Location: _ofNewRow, ...headers }: JsonSchema,
  content: JsonSchema | undefined,
): JsonSchema {
  return {
    description: "The row that was there, changed.",
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    content,
  };
}

/** Returns true if a route's responses have rate-limit headers. */
function isLimited({ endpoint }: Route, resource: Resource): boolean {
  const { rateLimit = null, cost = 0 } = endpoint.protection(resource) ?? {};
  return rateLimit !== null || cost > 0;
}

const text = { schema: { type: "string" } };
const limitHeaders = { RateLimit: text, "RateLimit-Policy": text };

function successes(
  operation: OperationName,
  resource: Resource,
  name: string,
  procedure: string | null,
): Success {
  const tagged = resource.etag === null ? {} : { ETag: text };
  const row = json(schemaRef(name));
  const rows = json(objectOf({ items: arrayOf(schemaRef(name)) }));
  const count = json(objectOf({ count: whole }));
  switch (operation) {
    case "list":
    case "export":
      return { status: 200, description: "A page.", content: pageContent(resource, name) };
    case "get":
      return {
        status: 200,
        description: "The row.",
        content: json(schemaRef(`${name}Selection`)),
        headers: tagged,
      };
    case "count":
      return { status: 200, description: "The number of rows.", content: count };
    case "search":
      return { status: 200, description: "The rows found.", content: json(foundRows(name)) };
    case "aggregate":
      return { status: 200, description: "The groups.", content: json(groupsOf(resource)) };
    case "create":
      return {
        status: 201,
        description: "The created row.",
        content: row,
        headers: { Location: text, ...tagged },
      };
    case "update":
    case "replace":
    case "restore":
      return { status: 200, description: "The row.", content: row, headers: tagged };
    case "delete":
      return { status: 204, description: "Deleted." };
    case "import":
      return {
        status: 200,
        description: "How many rows the body has, and how many were written.",
        content: json(objectOf({ rows: whole, written: whole })),
      };
    case "batch-create":
      return { status: 201, description: "The created rows.", content: rows };
    case "batch-replace":
    case "upsert":
      return { status: 200, description: "The rows, in the order of the items.", content: rows };
    case "batch-update":
    case "batch-delete":
      return { status: 200, description: "The number of rows.", content: count };
    case "procedure": {
      const found = procedure === null ? undefined : resource.procedures.get(procedure);
      const data = found === undefined ? {} : describeProcedure(procedure ?? "", found).output;
      return { status: 200, description: "What it returns.", content: json(objectOf({ data })) };
    }
    case "subscribe":
      return { status: 200, description: "The stream.", content: stream(rowStream) };
    case "subscribe-aggregate":
      return { status: 200, description: "The stream.", content: stream(aggregateStream) };
  }
}

const whole = { type: "integer", minimum: 0 };

function foundRows(name: string): JsonSchema {
  const marked = {
    type: "object",
    description: "By the key of a row, then by its field: pieces of HTML with the words in <em>.",
    additionalProperties: { type: "object", additionalProperties: arrayOf({ type: "string" }) },
  };
  const found = objectOf({ items: arrayOf(schemaRef(name)), total: whole });
  return { ...found, properties: { ...Object(found["properties"]), highlights: marked } };
}

const rowStream =
  "Events, each with JSON as data. `existing` { type, items, hasMore }: the rows at " +
  "first, in pages, of which the last has hasMore false. `added` and `changed` { type, seq, id, " +
  "item }, `removed` { type, seq, id }: a change. `invalidate` { type, reason }: discard the rows, " +
  "a full `existing` follows. An `id` line alone is where to continue.";

const aggregateStream =
  "Events, each with JSON as data. `aggregate` { type, groups, hasMore }: the " +
  "groups, at first and whenever they change. `invalidate` { type, reason }.";

function stream(description: string): JsonSchema {
  return { "text/event-stream": { schema: { type: "string", description } } };
}

function json(schema: JsonSchema): JsonSchema {
  return { "application/json": { schema } };
}

function objectOf(properties: JsonSchema): JsonSchema {
  return { type: "object", properties, required: Object.keys(properties) };
}

function arrayOf(items: JsonSchema): JsonSchema {
  return { type: "array", items };
}

function pageContent({ capabilities }: Resource, name: string): JsonSchema {
  const page = objectOf({
    items: arrayOf(schemaRef(`${name}Selection`)),
    nextCursor: { type: "string", nullable: true },
    hasMore: { type: "boolean" },
  });
  const counted = {
    ...page,
    properties: {
      ...Object(page["properties"]),
      totalCount: whole,
      totalCountEstimated: { type: "boolean" },
    },
  };
  const lines = { schema: { type: "string" } };
  return {
    ...json(counted),
    ...(capabilities.enableExport ? { "text/csv": lines, "application/x-ndjson": lines } : {}),
  };
}

/** Returns the schema of an aggregate's groups. Exact sums and averages are strings or null. */
function groupsOf({ groups }: Resource): JsonSchema {
  const keys = [...groups.keys].map(([field, { as }]) =>
    [field, responseColumnSchema({ ...as, notNull: false })] as const
  );
  const metrics = [...groups.ofColumns].filter(([, byColumn]) => byColumn.size > 0)
    .map(([metric, byColumn]) => [
      metric,
      {
        type: "object",
        properties: Object.fromEntries([...byColumn.keys()].map((field) => [field, {}])),
      },
    ]);
  const group = {
    type: "object",
    properties: {
      key: { type: "object", nullable: true, properties: Object.fromEntries(keys) },
      count: whole,
      ...Object.fromEntries(metrics),
    },
    required: ["key"],
  };
  return objectOf({ groups: arrayOf(group), hasMore: { type: "boolean" } });
}
