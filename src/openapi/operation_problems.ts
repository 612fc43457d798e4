import { isPublic } from "./operation_headers.ts";
import type { ProblemSlug } from "../protocol/problem_codes.ts";
import type { Resource } from "../resource/model/resource.ts";
import { operationProperties } from "../resource/model/operation_properties.ts";
import { isRead, type Route } from "../resource/routes/endpoint.ts";
import { mayUpsert } from "../resource/write/upsert/unique_key.ts";
import type { OpenapiInput } from "./openapi_input.ts";

/** Returns the codes of the problems with which a route of a resource can respond. */
export function possibleProblems(
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
        name !== "procedure" && !mayLackFields(name, resource)
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
    ...isWrite ? writeProblems(facts) : [],
    ...operationProperties[name].problems,
    ...tagProblems(name, resource),
    ...protectionProblems(route, resource, facts),
    ...["internal-error", "overloaded", "database-unavailable", "schema-changed"] as const,
    ...facts.hasAuthentication ? ["identity-unavailable" as const] : [],
  ];
}

/** Returns true if a search or stream needs fields that some users cannot read. */
function mayLackFields(name: Route["endpoint"]["name"], { varyingFields }: Resource): boolean {
  return varyingFields.has("readable") && (name === "search" || name === "subscribe");
}

function writeProblems({ isIdempotent }: OpenapiInput): readonly ProblemSlug[] {
  return [
    "conflict",
    "query-too-expensive",
    ...isIdempotent
      ? [
        ...["idempotency-in-flight", "idempotency-answer-not-kept"] as const,
        ...["idempotency-key-reused", "store-unavailable"] as const,
      ]
      : [],
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
