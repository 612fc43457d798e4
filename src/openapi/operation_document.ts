import { type JsonSchema, objectSchema } from "../protocol/route_description.ts";
import type { Resource } from "../resource/model/resource.ts";
import { candidatesOf } from "../resource/model/procedure.ts";
import { operationProperties } from "../resource/model/operation_properties.ts";
import type { OperationName } from "../resource/model/operation.ts";
import { type Endpoint, isRead, type Route } from "../resource/routes/endpoint.ts";
import { pascalName, uniqueNames } from "./component_names.ts";
import { bodyColumnSchema, keySegmentSchema } from "./column_json_schema.ts";
import type { ProblemResponses } from "./problem_responses.ts";
import {
  anyOf,
  type CalledFunction,
  describeProcedure,
  type OperationFacts,
} from "./procedure_schema.ts";
import { listBody, parameter, queryParameters } from "./parameters.ts";
import { optimisticIdSchema, relationsInUpdateBody, schemaRef } from "./row_schemas.ts";
import type { NamedRoute, OpenapiInput } from "./openapi_input.ts";
import { isPublic, requestHeaders, securityRequirements } from "./operation_headers.ts";
import { successResponses } from "./operation_success.ts";
import type { ProblemSlug } from "../protocol/problem_codes.ts";
import { mayUpsert } from "../resource/write/upsert/sort_items.ts";

export function operationDocument(
  { route, resource, name }: NamedRoute,
  facts: OpenapiInput,
  problems: ProblemResponses,
): JsonSchema {
  const { endpoint } = route;
  const found = resource.procedures.get(procedureOf(route) ?? "");
  const procedure = found === undefined
    ? null
    : describeProcedure(procedureOf(route) ?? "", found, resource);
  const schema = endpoint.takesBody
    ? bodies[endpoint.name]?.({ resource, name, procedure }) ?? null
    : null;
  const body = contentOf(endpoint, schema);
  const parameters = [
    ...route.path.startsWith("/:id")
      ? [{ name: "id", in: "path", required: true, ...keySegmentSchema(resource.table) }]
      : [],
    ...queryParameters[endpoint.name]?.(resource) ?? [],
    ...functionParameters(found === undefined ? [] : candidatesOf(found), route),
    ...requestHeaders(route, resource, facts),
  ];
  return {
    operationId: operationId(route, name, procedureId(procedure?.name ?? null, resource)),
    summary: procedure === null
      ? `${operationProperties[endpoint.name].summary} (${resource.name})`
      : `Calls ${procedure.name} (${resource.name})`,
    ...(procedure?.description === undefined ? {} : { description: procedure.description }),
    tags: [name],
    security: securityRequirements(route, resource, facts),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null ? {} : { requestBody: { required: true, content: body } }),
    responses: {
      ...successResponses({ route, resource, name }, procedure, facts),
      ...problems.of(possibleProblems(route, resource, facts)),
    },
  };
}

function functionParameters(
  all: readonly CalledFunction[],
  { method }: Route,
): readonly JsonSchema[] {
  const isGet = method === "GET";
  const called = all.filter(({ isQuery, bodyType }) => !isGet || isQuery && bodyType === null);
  const given = isGet ? called.flatMap(({ args }) => args) : [];
  const args = [...Map.groupBy(given, ({ column }) => column.name)].map(([name, some]) => {
    const isRequired = some.every(({ isOptional }) => !isOptional) && some.length === called.length;
    const schema = anyOf(some.map(({ column }) => bodyColumnSchema(column, false)));
    return {
      ...{ name, in: "query", required: isRequired },
      ...(some.some(({ column }) => column.kind === "json")
        ? { content: { "application/json": { schema } } }
        : { schema }),
    };
  });
  const text = { type: "string" };
  const ofRows = called.every(({ result }) => result.kind !== "rows") ? [] : [
    parameter("filter", text, "Which rows, in the filter language."),
    parameter("select", text, "The fields of the rows, with commas between them."),
    parameter("orderBy", text, "The order, like `-year,title`."),
    parameter("limit", { type: "integer" }, "How many rows at most."),
    ...(called.some(({ isQuery }) => isQuery)
      ? [parameter("cursor", text, "`nextCursor` of the page before.")]
      : []),
  ];
  return [...args, ...ofRows.filter(({ name }) => !args.some((one) => one.name === name))];
}

function procedureOf({ endpoint, path }: Route): string | null {
  return endpoint.name === "procedure" ? path.slice("/rpc/".length) : null;
}

function procedureId(name: string | null, { procedures }: Resource): string | null {
  const names = [...procedures.keys()];
  const ids = uniqueNames(names.map(pascalName), [""], []);
  return name === null ? null : ids[names.indexOf(name)] ?? null;
}

function operationId({ endpoint, method }: Route, name: string, procedure: string | null): string {
  if (procedure !== null) {
    return `${method === "GET" ? "read" : "call"}${name}${procedure}`;
  }
  const [verb = "", ...rest] = endpoint.name.split("-");
  return verb + rest.map(pascalName).join("") + name;
}

function contentOf({ name, rawTypes = [] }: Endpoint, schema: JsonSchema | null) {
  if (name === "import") {
    const lines = { schema: { type: "string" } };
    return { "application/x-ndjson": lines, "text/csv": lines };
  }
  const raw = rawTypes.map((type) => [type, { schema: { type: "string", format: "binary" } }]);
  return schema && { "application/json": { schema }, ...Object.fromEntries(raw) };
}

const filter: JsonSchema = {
  type: "string",
  minLength: 1,
  description: "Which rows, in the filter language; it must not be empty.",
};

const bodies: Readonly<Record<OperationName, ((facts: OperationFacts) => JsonSchema) | null>> = {
  ...{ list: null, get: null, delete: null, count: null, search: null, aggregate: null },
  ...{ subscribe: null, "subscribe-aggregate": null, import: null, export: null, restore: null },
  history: null,
  revert: () => objectSchema({ version: { type: "string", description: "The id of a version." } }),
  query: ({ resource }) => listBody(resource),
  create: ({ name }) => schemaRef(`${name}Create`),
  update: ({ name }) => schemaRef(`${name}Update`),
  replace: ({ name }) => schemaRef(`${name}Replace`),
  "batch-create": ({ name, resource }) =>
    itemsOf(createdItem(schemaRef(`${name}Create`), resource), resource.batch.create),
  "batch-replace": ({ name, resource }) =>
    itemsOf(schemaRef(`${name}ReplaceItem`), resource.batch.replace),
  upsert: ({ name, resource }) => itemsOf(schemaRef(`${name}UpsertItem`), resource.batch.create),
  "batch-update": ({ name, resource }) => {
    // A batch cannot write related rows. `Patch` is `Update` without them, if there are any.
    const isNested = Object.keys(relationsInUpdateBody(resource)).length > 0;
    const patch = schemaRef(`${name}${isNested ? "Patch" : "Update"}`);
    return objectSchema({ filter, patch });
  },
  "batch-delete": () => objectSchema({ filter }),
  procedure: ({ procedure }) => procedure?.input ?? {},
};

function createdItem(create: JsonSchema, resource: Resource): JsonSchema {
  const members = optimisticIdSchema(resource);
  return Object.keys(members).length === 0
    ? create
    : { allOf: [create, { type: "object", properties: members }] };
}

function itemsOf(items: JsonSchema, maxItems: number): JsonSchema {
  return objectSchema({ items: { type: "array", maxItems, items } });
}

function possibleProblems(
  route: Route,
  resource: Resource,
  facts: OpenapiInput,
): readonly ProblemSlug[] {
  const { endpoint, path } = route;
  const { name, takesBody } = endpoint;
  const isWrite = !isRead(route);
  const namesRow = path.startsWith("/:id");
  return [
    "invalid-parameter",
    ...isPublic(endpoint.accesses, resource) && !facts.hasAuthentication
      ? []
      : ["unauthorized" as const],
    ...endpoint.accesses.every((access) => resource.policy.public.has(access)) &&
        name !== "procedure" &&
        !(resource.varyingFields.has("readable") && (name === "search" || name === "subscribe"))
      ? []
      : ["forbidden" as const],
    ...namesRow || ["subscribe", "subscribe-aggregate", "batch-replace", "procedure"].includes(name)
      ? ["not-found" as const]
      : [],
    ...takesBody || name === "import"
      ? [
        ...["invalid-body", "request-timeout", "payload-too-large"] as const,
        ...["unsupported-media-type", "validation-error"] as const,
      ]
      : name === "procedure"
      ? ["validation-error" as const, "query-too-expensive" as const]
      : [],
    ...isWrite ? ["conflict", "query-too-expensive"] as const : [],
    ...isWrite && facts.isIdempotent
      ? [
        ...["idempotency-in-flight", "idempotency-answer-not-kept"] as const,
        ...["idempotency-key-reused", "store-unavailable"] as const,
      ]
      : [],
    ...operationProperties[name].problems,
    ...tagProblems(name, resource),
    ...protectionProblems(route, resource, facts),
    ...["internal-error", "overloaded", "database-unavailable", "schema-changed"] as const,
    ...facts.hasAuthentication ? ["identity-unavailable" as const] : [],
  ];
}

function tagProblems(name: Route["endpoint"]["name"], resource: Resource): readonly ProblemSlug[] {
  const { etag } = resource;
  const isUpsert = name === "create" && etag !== null && mayUpsert(resource);
  const { conditional } = operationProperties[name];
  if (!isUpsert && conditional === "none") return [];
  if (etag === null) return conditional === "one" ? ["precondition-failed"] : [];
  const isNeeded = etag.require && (isUpsert || conditional === "one");
  return ["precondition-failed", ...isNeeded ? ["precondition-required" as const] : []];
}

function protectionProblems(
  { endpoint }: Route,
  resource: Resource,
  { challengesByWork }: OpenapiInput,
): readonly ProblemSlug[] {
  const protection = endpoint.protection(resource);
  if (protection === undefined) return [];
  const { rateLimit, cost, pow, captcha, overflowsToCaptcha, isStream } = protection;
  const overflows = cost > 0 && !isStream;
  return [
    ...rateLimit === null ? [] : ["rate-limit-exceeded" as const],
    ...cost > 0 ? ["budget-exhausted" as const] : [],
    ...pow !== null || overflows && challengesByWork ? ["proof-of-work-required" as const] : [],
    ...captcha !== null || overflows && overflowsToCaptcha
      ? ["captcha-required" as const, "captcha-unavailable" as const]
      : [],
    ...rateLimit !== null || cost > 0 || pow !== null || captcha !== null
      ? ["store-unavailable" as const]
      : [],
  ];
}
