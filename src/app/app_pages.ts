import type { Driver } from "../db/driver.ts";
import type { AppStore } from "../kv/open_key_value_store.ts";
import type { DescribedRoute, OpenapiInput } from "../openapi/openapi_input.ts";
import type { ResolvedConfig } from "./resolve_config.ts";
import { methodProblem, type RouteTable } from "../resource/routes/route_table.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { SearchIndexes } from "../search/search_indexes.ts";
import { createClientPages } from "../service/client/client_pages.ts";
import { createDescriptionPages } from "../service/describe/description_pages.ts";
import { createMetricsPages } from "../service/observability/metrics_page.ts";
import {
  createServicePages,
  requireFreePagePaths,
  type ServicePage,
  worksWithoutStore,
} from "../service/service_pages.ts";
import type { WebPage } from "../service/web/web_page.ts";
import type { Hono } from "@hono/hono";
import type { User } from "../auth/authorize.ts";
import type { McpHandler, McpHandlerDependencies } from "../mcp/mcp_call.ts";
import { describeService, type ServiceSchema } from "../openapi/service_schema.ts";
import { type BodyReadingOptions, readBodyRequest } from "../service/hono_app.ts";
import type { AppEnv } from "../service/middleware.ts";
import { requireOwnHost } from "../mcp/require_own_host.ts";
import { boundedText } from "../resource/http/request_body.ts";
import { findTargetHandler } from "@hono/hono/utils/handler";
import type { Authenticator } from "../auth/authenticator.ts";
import type { AppConfig } from "./config.ts";
import { openapiDocument } from "../openapi/openapi_document.ts";
import { captchaHeaders } from "../protocol/captcha_headers.ts";
import { type JsonSchema, routeDescriptionOf } from "../protocol/route_description.ts";
import type { Resource } from "../resource/model/resource.ts";

interface AppPagesDependencies {
  readonly table: RouteTable;
  readonly databases: ReadonlySet<Driver>;
  readonly facts: OpenapiInput;
  readonly isDraining: () => boolean;
  readonly searchIndexes: Pick<SearchIndexes, "check">;
  readonly resolved: ResolvedConfig;
  readonly runtime: Runtime;
  readonly store: AppStore;
}

export function createAppPages(
  { table, databases, facts, isDraining, searchIndexes, resolved, runtime, store }:
    AppPagesDependencies,
): readonly ServicePage[] {
  const pages = [
    ...createServicePages({
      health: resolved.health,
      databases: [...databases],
      store: store.configured,
      isStoreDispensable: worksWithoutStore(table),
      search: searchIndexes.check,
      clock: runtime.clock,
      isDraining,
    }),
    ...createDescriptionPages(facts, resolved),
    ...createClientPages(),
    ...createMetricsPages(resolved.observability.metrics, resolved.isProduction),
  ];
  requireFreePagePaths(pages, table);
  return pages;
}

/** Loads the code of pages only if the option `web` is set. */
export async function openPage(
  { web }: ResolvedConfig,
  runtime: Runtime,
): Promise<WebPage | null> {
  if (web === null) return null;
  const { openWebPage } = await import("../service/web/web_page.ts");
  return await openWebPage(web, runtime);
}

interface McpDependencies {
  readonly facts: OpenapiInput;
  readonly resolved: ResolvedConfig;
  readonly runtime: Runtime;
  readonly parseUser: (value: unknown) => User | null;
  /** The requests that MCP tools have sent. */
  readonly ofTools: WeakSet<Request>;
  readonly bodies: BodyReadingOptions;
  readonly hono: Hono<AppEnv>;
  fetch(request: Request, info?: unknown): Promise<Response>;
}

export async function addMcpRoute(
  { facts, resolved, runtime, parseUser, ofTools, bodies, hono, fetch }: McpDependencies,
): Promise<void> {
  const { mcp, mountedAt, bodyLimit, trustedOrigins } = resolved;
  if (mcp === null) return;
  // The cast is safe: this is the type of the module's export.
  const { createMcp } = await import(creator) as {
    createMcp(parts: McpHandlerDependencies): McpHandler;
  };
  const answer = createMcp({
    options: mcp,
    schema: describeService(facts, ""),
    version: facts.info.version,
    mountedAt,
    maxRequestBytes: bodyLimit,
    observe: runtime.observe,
  });
  hono.all("/__service/mcp", async (context) => {
    const { raw, method } = context.req;
    // GET and DELETE exist for MCP's streams and sessions, which this service does not have.
    if (method !== "POST") throw methodProblem(method, ["POST"]);
    requireOwnHost(raw, mcp.hosts, trustedOrigins);
    const { caller, bytes, inTurn } = await readBodyRequest(context, parseUser, bodies);
    return await inTurn(() =>
      answer({
        request: bounded(raw, bytes),
        user: caller.user()?.id ?? null,
        fetch(request) {
          ofTools.add(request);
          return fetch(request, context.env);
        },
      })
    );
  });
}

/** Bundlers do not follow a variable import path, so a bundle does not include the MCP SDK. */
const creator = "../mcp/mcp_responder.ts";

/** Returns the request with the body that was already read. Throws a 413 for too many fields. */
function bounded({ url, method, headers, signal }: Request, bytes: Uint8Array): Request {
  return new Request(url, { method, headers, signal, body: boundedText(bytes, maxFields) });
}

/** Maximum number of JSON fields: 60,000 would block the MCP SDK for half a second. */
const maxFields = 2_000;

interface OpenapiSourceDependencies {
  readonly config: AppConfig;
  readonly resolved: ResolvedConfig;
  readonly resources: readonly Resource[];
  readonly authenticators: readonly Authenticator[];
  /** Returns the app's Hono instance. Can be called only after the app is assembled. */
  hono(): Hono<AppEnv>;
}

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
    // If a middleware identifies users, the service does not know how, and assumes bearer tokens.
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
