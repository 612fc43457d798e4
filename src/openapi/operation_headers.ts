import { captchaHeaders } from "../protocol/captcha_headers.ts";
import type { JsonSchema } from "../protocol/route_description.ts";
import type { Resource } from "../resource/model/resource.ts";
import { operationProperties } from "../resource/model/operation_properties.ts";
import { isRead, type Route } from "../resource/routes/endpoint.ts";
import { mayUpsert } from "../resource/write/upsert/sort_items.ts";
import type { OpenapiInput } from "./openapi_input.ts";

export function requestHeaders(
  route: Route,
  resource: Resource,
  facts: OpenapiInput,
): readonly JsonSchema[] {
  const { endpoint } = route;
  return [
    ...conditionHeaders(route, resource),
    ...operationProperties[endpoint.name].named && resource.hub() !== null
      ? [header("Service-Optimistic-Id", "The client's own id of the write, in its event.")]
      : [],
    ...endpoint.name === "subscribe"
      ? [header("Last-Event-ID", "Continues after this event; precedes `resumeFrom`.")]
      : [],
    ...facts.isIdempotent && !isRead(route) && endpoint.name !== "import"
      ? [header("Idempotency-Key", "The request is executed once for each key.")]
      : [],
    ...challengeHeaders(route, resource, facts),
  ];
}

function header(
  name: string,
  description: string,
  schema: JsonSchema = { type: "string" },
): JsonSchema {
  return { name, in: "header", description, schema };
}

function conditionHeaders({ endpoint }: Route, resource: Resource): readonly JsonSchema[] {
  const { etag } = resource;
  const { name } = endpoint;
  if (name === "query") {
    return [header("If-None-Match", "Answers 304 where the page still has one of these ETags.")];
  }
  if (etag === null) return [];
  if (name === "get") {
    return [header("If-None-Match", "Answers 304 where the row still has one of these ETags.")];
  }
  if (name === "create" && mayUpsert(resource)) {
    return [header("If-Match", "With `on`: writes only where the row has one of these ETags.")];
  }
  if (operationProperties[name].conditional !== "one") return [];
  return [{
    ...header("If-Match", "Writes only where the row has one of these ETags, else 412."),
    ...(etag.require ? { required: true } : {}),
  }];
}

function challengeHeaders(
  { endpoint }: Route,
  resource: Resource,
  { challengesByWork, captchaHeader }: OpenapiInput,
): readonly JsonSchema[] {
  const protection = endpoint.protection(resource);
  if (protection === undefined || protection.isStream) return [];
  const { cost, pow, captcha, overflowsToCaptcha } = protection;
  return [
    ...pow !== null || cost > 0 && challengesByWork
      ? [
        header("Service-PoW-Challenge", "The challenge of a 428, with its nonce."),
        header("Service-PoW-Nonce", "The nonce that solves the challenge."),
      ]
      : [],
    ...captcha !== null || cost > 0 && overflowsToCaptcha
      ? [header(shownName(captchaHeader), "The token of the CAPTCHA's widget.")]
      : [],
  ];
}

function shownName(name: string): string {
  return name === captchaHeaders.token ? "Service-Captcha-Token" : name;
}

/** Returns the authentication that a route accepts. Empty if the service has no schemes. */
export function securityRequirements(
  { endpoint, path }: Route,
  resource: Resource,
  { securitySchemes }: OpenapiInput,
): readonly JsonSchema[] {
  const isOpen = endpoint.name === "procedure"
    ? resource.procedures.get(path.slice("/rpc/".length))?.public === true
    : isPublic(endpoint.accesses, resource);
  return authenticationAlternatives(securitySchemes, isOpen);
}

export function isPublic(
  accesses: Route["endpoint"]["accesses"],
  { policy }: Resource,
): boolean {
  return accesses.every((access) => policy.public.has(access) || policy.publicScopes.has(access));
}

/** Returns the alternatives of which a request must meet one. `{}` allows anonymous access. */
export function authenticationAlternatives(
  schemes: OpenapiInput["securitySchemes"],
  isOpen: boolean,
): readonly JsonSchema[] {
  const named = Object.keys(schemes).map((name) => ({ [name]: [] }));
  return isOpen && named.length > 0 ? [{}, ...named] : named;
}
