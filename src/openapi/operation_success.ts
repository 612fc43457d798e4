import { type JsonSchema, objectSchema } from "../protocol/route_description.ts";
import type { Resource } from "../resource/model/resource.ts";
import { mayUpsert } from "../resource/write/upsert/sort_items.ts";
import type { OperationName } from "../resource/model/operation.ts";
import { isRead, type Route } from "../resource/routes/endpoint.ts";
import { type OperationFacts, pageOf, type ProcedureSchema } from "./procedure_schema.ts";
import { metricSchemas, schemaRef } from "./row_schemas.ts";
import type { NamedRoute, OpenapiInput } from "./openapi_input.ts";
import { responseColumnSchema } from "./column_json_schema.ts";

export function successResponses(
  { route, resource, name }: NamedRoute,
  procedure: ProcedureSchema | null,
  { isIdempotent }: OpenapiInput,
): JsonSchema {
  const { endpoint } = route;
  const [status, description, contentOf, headersOf] = successes[endpoint.name];
  const content = contentOf?.({ resource, name, procedure });
  const headers = {
    ...headersOf?.(resource),
    ...(isLimited(route, resource) ? limitHeaders : {}),
    ...(isIdempotent && !isRead(route) ? { "Idempotency-Replayed": text } : {}),
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
    ...(endpoint.name === "query" || endpoint.name === "get" && resource.etag !== null
      ? { 304: { description: "`If-None-Match` has this ETag.", headers: { ETag: text } } }
      : {}),
  };
}

/** Returns the response of a create request that updates an existing row by a unique key. */
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

function isLimited({ endpoint }: Route, resource: Resource): boolean {
  const { rateLimit = null, cost = 0 } = endpoint.protection(resource) ?? {};
  return rateLimit !== null || cost > 0;
}

const text = { schema: { type: "string" } };
const limitHeaders = { RateLimit: text, "RateLimit-Policy": text };

type Success = readonly [
  status: number,
  description: string,
  contentOf?: (facts: OperationFacts) => JsonSchema,
  headersOf?: (resource: Resource) => JsonSchema,
];

const tagOf = ({ etag }: Resource): JsonSchema => etag === null ? {} : { ETag: text };
const rowOf = ({ name }: OperationFacts) => json(schemaRef(name));
const rowsOf = ({ name }: OperationFacts) =>
  json(objectSchema({ items: arrayOf(schemaRef(name)) }));
const countOf = () => json(objectSchema({ count: whole }));

const successes: Readonly<Record<OperationName, Success>> = {
  list: [200, "A page.", pageContent],
  query: [200, "A page.", pageContent, () => ({ ETag: text })],
  export: [200, "A page.", pageContent],
  get: [200, "The row.", ({ name }) => json(schemaRef(`${name}Selection`)), tagOf],
  count: [200, "The number of rows.", countOf],
  search: [200, "The rows found.", ({ name }) => json(foundRows(name))],
  aggregate: [200, "The groups.", ({ resource }) => json(groupsOf(resource))],
  create: [
    201,
    "The created row.",
    rowOf,
    (resource) => ({ Location: text, ...tagOf(resource) }),
  ],
  update: [200, "The row.", rowOf, tagOf],
  replace: [200, "The row.", rowOf, tagOf],
  restore: [200, "The row.", rowOf, tagOf],
  history: [200, "A page of versions.", historyPage],
  revert: [200, "The row.", rowOf, tagOf],
  delete: [204, "Deleted."],
  import: [
    200,
    "How many rows the body has, and how many were written.",
    () => json(objectSchema({ rows: whole, written: whole })),
  ],
  "batch-create": [201, "The created rows.", rowsOf],
  "batch-replace": [200, "The rows, in the order of the items.", rowsOf],
  upsert: [200, "The rows, in the order of the items.", rowsOf],
  "batch-update": [200, "The number of rows.", countOf],
  "batch-delete": [200, "The number of rows.", countOf],
  procedure: [
    200,
    "What it returns.",
    ({ procedure }) => json(objectSchema({ data: procedure?.output ?? {} })),
  ],
  subscribe: [200, "The stream.", () => stream(rowStream)],
  "subscribe-aggregate": [200, "The stream.", () => stream(aggregateStream)],
};

const whole = { type: "integer", minimum: 0 };

function foundRows(name: string): JsonSchema {
  const marked = {
    type: "object",
    description: "By the key of a row, then by its field: pieces of HTML with the words in <em>.",
    additionalProperties: { type: "object", additionalProperties: arrayOf({ type: "string" }) },
  };
  return objectSchema({ items: arrayOf(schemaRef(name)), total: whole, "highlights?": marked });
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

function arrayOf(items: JsonSchema): JsonSchema {
  return { type: "array", items };
}

function pageContent({ resource: { capabilities }, name }: OperationFacts): JsonSchema {
  const page = pageOf(schemaRef(`${name}Selection`), { totalCountEstimated: { type: "boolean" } });
  const lines = { schema: { type: "string" } };
  return {
    ...json(page),
    ...(capabilities.enableExport ? { "text/csv": lines, "application/x-ndjson": lines } : {}),
  };
}

function historyPage({ name }: OperationFacts): JsonSchema {
  const nullable = { type: "string", nullable: true };
  const row = { allOf: [schemaRef(`${name}Selection`)], nullable: true };
  const at = { ...nullable, format: "date-time" };
  return json(
    pageOf(objectSchema({ version: nullable, at, user: nullable, operation: nullable, row })),
  );
}

/** Returns the schema of groups. Exact sums and averages are strings; null without values. */
function groupsOf({ groups }: Resource): JsonSchema {
  const keys = [...groups.keys].map(([field, { as }]) =>
    [field, responseColumnSchema({ ...as, notNull: false })] as const
  );
  const group = {
    type: "object",
    properties: {
      key: { type: "object", nullable: true, properties: Object.fromEntries(keys) },
      ...metricSchemas(groups),
    },
    required: ["key"],
  };
  return objectSchema({ groups: arrayOf(group), hasMore: { type: "boolean" } });
}
