import type { JsonSchema, RouteDescription } from "../protocol/route_description.ts";
import { routesOf } from "../resource/routes/routes.ts";
import { componentNames } from "./component_names.ts";
import { authenticationAlternatives } from "./operation_headers.ts";
import { operationDocument } from "./operation_document.ts";
import { ProblemResponses, problemSchema } from "./problem_responses.ts";
import { rowSchemas } from "./row_schemas.ts";
import type { OpenapiInput } from "./openapi_input.ts";

/** Returns the OpenAPI 3.0 document. `prefix` is the path at which the app is mounted. */
export function openapiDocument(facts: OpenapiInput, prefix: string): JsonSchema {
  const { info, servers, resources, securitySchemes } = facts;
  const names = componentNames(resources);
  const problems = new ProblemResponses();
  const routes = facts.routes();
  const paths = Object.fromEntries<JsonSchema>([
    ...resources.flatMap((resource) => {
      const name = names.get(resource) ?? "";
      const byPath = Map.groupBy(routesOf(resource), ({ path }) => path);
      return [...byPath].map(([path, ofPath]) => {
        const item = ofPath.map((route) => [
          route.method.toLowerCase(),
          operationDocument({ route, resource, name }, facts, problems),
        ]);
        const url = path === "/" ? resource.url : resource.url + path.replace(":id", "{id}");
        return [url, Object.fromEntries(item)] as const;
      });
    }),
    ...[...Map.groupBy(routes, ({ path }) => path)].map(([path, ofPath]) => {
      const item = ofPath.map(({ method, description }) => [
        method.toLowerCase(),
        routeDocument(description, facts, problems),
      ]);
      const url = path.replaceAll(/:(\w+)/g, "{$1}").replace(/(?<=.)\/$/, "");
      return [url, Object.fromEntries(item)] as const;
    }),
  ]);
  const all = Object.assign({}, ...resources.map((resource) => rowSchemas(resource, names)));
  const document = {
    openapi: "3.0.3",
    info: definedOf(info),
    servers: servers?.map(definedOf) ?? [{ url: prefix === "" ? "/" : prefix }],
    tags: [
      ...resources.map((resource) => ({
        name: names.get(resource),
        description: resource.table.description ?? `The rows of ${resource.name}.`,
      })),
      ...[...new Set(routes.map(({ description }) => description.tag))].map((name) => ({
        name,
        description: tagDescriptions[name] ?? `Routes of ${name}.`,
      })),
    ],
    paths,
  };
  return {
    ...document,
    components: {
      ...(Object.keys(securitySchemes).length === 0 ? {} : { securitySchemes }),
      schemas: { ...usedOf(all, document), Problem: problemSchema },
      responses: problems.components(),
    },
  };
}

const tagDescriptions: Readonly<Record<string, string>> = {
  Accounts: "Signup, login, logout and passwords.",
  Billing: "Checkouts, subscriptions and credits.",
  Live: "Several live streams as one.",
  Health: "Liveness and readiness.",
  Service: "What the service says about itself.",
};

function routeDocument(
  { id, tag, summary, body, bodyType, answers, problems: slugs, needsUser, parameters }:
    RouteDescription,
  { securitySchemes }: OpenapiInput,
  problems: ProblemResponses,
): JsonSchema {
  const responses = Object.entries(answers).map(([status, answer]) => [
    status,
    {
      description: summary,
      ...(answer === null
        ? {}
        : { content: { [answer.type ?? "application/json"]: { schema: answer.schema } } }),
    },
  ]);
  return {
    operationId: id,
    summary,
    tags: [tag],
    security: authenticationAlternatives(securitySchemes, !needsUser),
    ...(parameters === undefined ? {} : {
      parameters: Object.entries(parameters).map(([name, description]) => ({
        ...{ name, in: "path", required: true, description },
        schema: { type: "string" },
      })),
    }),
    ...(body === undefined ? {} : {
      requestBody: {
        required: true,
        content: { [bodyType ?? "application/json"]: { schema: body } },
      },
    }),
    responses: { ...Object.fromEntries(responses), ...problems.of(slugs) },
  };
}

function usedOf(all: JsonSchema, document: unknown): JsonSchema {
  const used = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, member] of Object.entries(value)) {
      if (key === "$ref" && typeof member === "string") {
        const name = member.replace("#/components/schemas/", "");
        if (!Object.hasOwn(all, name) || used.has(name)) continue;
        used.add(name);
        visit(all[name]);
      } else visit(member);
    }
  };
  visit(document);
  return Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name)));
}

function definedOf(given: object): JsonSchema {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
