import { findTargetHandler } from "@hono/hono/utils/handler";
import type { Hono } from "@hono/hono";
import type { Authenticator } from "../auth/authenticator.ts";
import type { AppConfig } from "./config.ts";
import { openapiDocument } from "../openapi/openapi_document.ts";
import { describeService, type ServiceSchema } from "../openapi/service_schema.ts";
import type { DescribedRoute, OpenapiInput } from "../openapi/openapi_input.ts";
import { captchaHeaders } from "../protocol/captcha_headers.ts";
import { type JsonSchema, routeDescriptionOf } from "../protocol/route_description.ts";
import type { Resource } from "../resource/model/resource.ts";
import type { ResolvedConfig } from "./resolve_config.ts";
import type { AppEnv } from "../service/middleware.ts";

export interface OpenapiSourceDependencies {
  readonly config: AppConfig;
  readonly resolved: ResolvedConfig;
  readonly resources: readonly Resource[];
  readonly authenticators: readonly Authenticator[];
  /** Returns the app's Hono instance. Can be called only after the app is assembled. */
  hono(): Hono<AppEnv>;
}

/** Returns the facts about an app that its schema and its OpenAPI document contain. */
export function openapiSource(
  { config, resolved, resources, authenticators, hono }: OpenapiSourceDependencies,
): OpenapiInput {
  const { auth, abuseProtection } = config;
  const own = auth?.middleware === undefined ? {} : { bearer: { type: "http", scheme: "bearer" } };
  const schemes = authenticators.map(({ securitySchemes }) => securitySchemes ?? {});
  return {
    resources,
    basePath: resolved.basePath,
    info: resolved.openapi.info,
    servers: resolved.openapi.servers,
    hasAuthentication: authenticators.length > 0 || auth?.middleware !== undefined,
    // The service does not know how middleware identifies a user. Bearer tokens are assumed.
    securitySchemes: authenticators.length === 0 ? own : Object.assign({}, ...schemes),
    isIdempotent: resolved.idempotency !== null,
    challengesByWork: abuseProtection?.pow !== undefined,
    captchaHeader: abuseProtection?.captcha?.tokenHeader ?? captchaHeaders.token,
    routes: () => describedRoutes(hono()),
    routeCount: () => hono().routes.length,
  };
}

export function schemaMethods(
  facts: OpenapiInput,
  prefix: string,
): { schema(): ServiceSchema; openapi(): JsonSchema } {
  return {
    schema: () => describeService(facts, prefix),
    openapi: () => openapiDocument(facts, prefix),
  };
}

function describedRoutes({ routes }: Hono<AppEnv>): readonly DescribedRoute[] {
  return routes.flatMap(({ method, path, handler }) => {
    const description = routeDescriptionOf(findTargetHandler(handler));
    return description === undefined ? [] : [{ method, path, description }];
  });
}
