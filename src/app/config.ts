import type { ActAsOptions } from "../auth/act_as.ts";
import type { Authenticator, AuthenticatorDefinition, Router } from "../auth/authenticator.ts";
import { isStorable, parseUser, type User } from "../auth/authorize.ts";
import { changesOptionRules, type ChangesOptions } from "../db/changes/changes_options.ts";
import type { DrizzleDatabase } from "../db/drizzle/drizzle_database.ts";
import {
  abuseProtectionOptionRules,
  type AbuseProtectionOptions,
} from "../guard/abuse_protection_options.ts";
import {
  idempotencyOptionRules,
  type IdempotencyOptions,
} from "../idempotency/idempotency_options.ts";
import { type KeyValueOption, keyValueOptionRule } from "../kv/open_key_value_store.ts";
import { mcpOptionRule, type McpOptions } from "../mcp/mcp_options.ts";
import { openapiOptionRule, type OpenapiOptions } from "../openapi/openapi_options.ts";
import type { ResourceDefinition } from "../resource/define/resource_definition.ts";
import type { Observer, Runtime } from "../runtime/runtime.ts";
import {
  searchOutboxOptionRules,
  type SearchOutboxOptions,
} from "../search/outbox/search_outbox_options.ts";
import type { SearchAdapter } from "../search/search_adapter.ts";
import { corsOptionRule, type CorsOptions } from "../service/cors.ts";
import {
  dashboardOptionRule,
  type DashboardOptions,
} from "../service/dashboard/dashboard_options.ts";
import type { Middleware } from "../service/middleware.ts";
import { webOptionRule, type WebOptions } from "../service/web/web_options.ts";
import {
  observabilityOptionRule,
  type ObservabilityOptions,
} from "../service/observability/observability_options.ts";
import { type SecurityHeaders, securityHeadersOptionRule } from "../service/responder.ts";
import type { Database } from "../db/database.ts";
import { appDatabaseOption } from "../db/require_database.ts";
import { listenOptionRules, type ListenOptions } from "../listen/listener.ts";
import { groupOf, listOf } from "../options/option.ts";
import {
  callback,
  flag,
  objectWith,
  synchronous,
  testedValue,
  textLike,
  timerMs,
  whole,
} from "../options/option_kinds.ts";
import { envOptionRule } from "../runtime/production.ts";
import { secretOptionRule } from "../runtime/resolve_secrets.ts";
import { isTableLike } from "../schema/table_like.ts";

/** The configuration of an app. */
export interface AppConfig {
  /** The default database. For a Drizzle database, the service opens its own connections. */
  readonly db: Database | DrizzleDatabase;
  /** The resources, each of which serves a table; see {@link resource}. */
  readonly resources: readonly ResourceDefinition[];
  /** The path below which resources are mounted. Default: `/api`. */
  readonly basePath?: string | undefined;
  /**
   * The path under which clients see this app. Set it only if a parent's `mount("/v1", app.fetch)`
   * or a proxy removes this path from the requests. `Location` headers and the `type` of problems
   * begin with this path. Do not set it for `parent.route("/v1", app.hono)`, which keeps the path.
   */
  readonly mountedAt?: string | undefined;
  /**
   * The secret that encrypts page cursors. In a list, the first one encrypts and each one decrypts,
   * so that secrets can be rotated. Default: `SERVICE_SECRET`, or in development a random secret
   * with a notice.
   */
  readonly secret?: string | readonly string[] | undefined;
  /**
   * The store of rate limits, sessions and credits: the path of a file, `:memory:`, an `https://`
   * URL of KV Connect, a `Deno.Kv` or a {@link KeyValue}. Default: the memory of the process, with
   * a warning when the service first stores something there.
   */
  readonly kv?: KeyValueOption | undefined;
  /** Protection against abuse: budgets, proof of work and CAPTCHAs. Default: none of them. */
  readonly abuseProtection?: AbuseProtectionOptions | undefined;
  /** Options for requests with an `Idempotency-Key` header. `false` ignores the header. */
  readonly idempotency?: false | IdempotencyOptions | undefined;
  /** Authentication: routes for logging in, and how the user of a request is identified. */
  readonly auth?: AuthOptions | undefined;
  /** The Postgres roles of users, for row-level security. Default: the role of the connection. */
  readonly actAs?: ActAsOptions | undefined;
  /** Hono middleware, in the order of execution. Runs after user identification, before routes. */
  readonly middleware?: readonly Middleware[] | undefined;
  /** Cross-origin requests. `true` allows every origin, without credentials. Default: off. */
  readonly cors?: boolean | CorsOptions | undefined;
  /** The routes `/healthz` and `/readyz`. Default: true. */
  readonly health?: boolean | undefined;
  /** The OpenAPI document and the schema below `/__service`. Default: on. */
  readonly openapi?: boolean | OpenapiOptions | undefined;
  /** MCP at `/__service/mcp`, for language models. `{ write: true }` adds writes. Default: off. */
  readonly mcp?: boolean | McpOptions | undefined;
  /** Metrics at `/__service/metrics`, OpenTelemetry spans and other observability. Default: off. */
  readonly observability?: boolean | ObservabilityOptions | undefined;
  /**
   * The operator's dashboard at `/__service/ui`, which can change every row. Without `authorize`,
   * only this machine can open it. Production requires `authorize`. Default: off.
   */
  readonly adminUI?: boolean | DashboardOptions | undefined;
  /** The folder of a page, such as `web/dist`, for paths that no route matches. Default: none. */
  readonly web?: string | WebOptions | undefined;
  /** The headers `X-Content-Type-Options`, `X-Frame-Options` and `Referrer-Policy`. Default: on. */
  readonly securityHeaders?: SecurityHeaders | undefined;
  /** The maximum size of a body, in bytes. Default: 1 MiB. */
  readonly bodyLimit?: number | undefined;
  /** The maximum time in which the whole body must arrive, in milliseconds. Default: 10,000. */
  readonly bodyTimeoutMs?: number | undefined;
  /** Maximum number of fields in a body, at any depth. Default: 20,000; more for large batches. */
  readonly maxFields?: number | undefined;
  /** Maximum size of a response in bytes, except exports and streams. Default: 16 MiB. */
  readonly maxAnswerBytes?: number | undefined;
  /** The timeout of each query in a read request, in milliseconds. Default: 5,000. */
  readonly queryTimeoutMs?: number | undefined;
  /** How changes are recorded for live streams, and how long recorded changes are kept. */
  readonly changes?: ChangesOptions | undefined;
  /** The search engine of `GET /search`, such as `sqliteSearch()`. Default: no search. */
  readonly search?: SearchAdapter | undefined;
  /** How the service sends recorded changes of rows (the search outbox) to the search engine. */
  readonly searchOutbox?: SearchOutboxOptions | undefined;
  /** The limits of open live streams. */
  readonly subscribe?: SubscribeOptions | undefined;
  /** `production` rejects development settings. Default: environment variable `SERVICE_ENV`. */
  readonly env?: "development" | "production" | undefined;
  /** Receives the observations of the service. Default: `consoleObserver()`. */
  readonly observe?: Observer | undefined;
  /** Clock, random numbers, environment and observer. Default: those of the platform. */
  readonly runtime?: Runtime | undefined;
}

/** The limits of open live streams in one process. A stream above a limit fails with 429. */
export interface SubscribeOptions {
  /** The maximum number of streams of one user. Default: 10. */
  readonly maxPerUser?: number | undefined;
  /** The maximum number of streams of one client address. Default: 50. */
  readonly maxPerAddress?: number | undefined;
}

/** The options of authentication: how users log in, and how requests identify them. */
export interface AuthOptions {
  /**
   * The authenticators, such as `jwtAuth`, `apiKeyAuth` or `passwordAuth` of the subpath `auth`.
   * The first one that recognizes the request's credential identifies the user.
   */
  readonly use?: readonly (Authenticator | AuthenticatorDefinition)[] | undefined;
  /** Time in ms after which a cached session, API key or account is read again. Default: 5,000. */
  readonly recheckMs?: number | undefined;
  /** The routes at `{basePath}/auth`: a Hono app with `user` in its context, or a `fetch`. */
  readonly routes?: Router | undefined;
  /** Example users for the test of scopes that are no policies, at the start. Default: none. */
  readonly samples?: readonly User[] | undefined;
  /** Middleware that sets the user with `c.set("user", { id })`. Runs after the authenticators. */
  readonly middleware?: Middleware | undefined;
}

export interface OpenConfig extends AppConfig {
  readonly db: Database;
}

/** The configuration of a service: its app, and the address and port of its listener. */
export interface ServiceConfig extends AppConfig {
  /** The port. 0 chooses a free port. Default: 8000. */
  readonly port?: number | undefined;
  /** The address on which the service listens. Default: `127.0.0.1`. */
  readonly host?: string | undefined;
}

const path = textLike(
  '"" or a path like "/api", with no slash at the end',
  /^(\/(?!\.{1,2}(\/|$))[\w.~-]+)*$/,
);

const roleName = textLike("", /./).fitting("the name of a role of the database", isStorable);

export const serviceOptionRules = groupOf<ServiceConfig & ListenOptions>()({
  db: appDatabaseOption().required(),
  resources: listOf("what resource(table, options) gives", definitionOption()).required(),
  basePath: path.default("/api"),
  mountedAt: path.default(""),
  secret: secretOptionRule(),
  kv: keyValueOptionRule(),
  abuseProtection: abuseProtectionOptionRules,
  idempotency: idempotencyOptionRules,
  auth: groupOf<AuthOptions>()({
    use: listOf("authenticators, like jwtAuth(…)", authenticatorOption()).default([]),
    recheckMs: timerMs().default(5_000),
    routes: objectWith<Router>("a Hono app, or an object with a fetch", "fetch"),
    samples: listOf(
      'users, like { id: "ann" }',
      testedValue<User>("a user with an id", (given) => parseUser(given) !== null),
    ).default([]),
    middleware: callback<Middleware>(),
  }).advising((given) =>
    typeof given === "function" ? "is a function: write auth: { middleware }" : null
  ).default({}),
  actAs: groupOf<ActAsOptions>()({
    roles: listOf("names of roles", roleName).fitting(
      "a list of at least one role",
      (roles) => roles.length > 0,
    ).required(),
    as: synchronous<ActAsOptions["as"]>().required(),
    system: roleName,
  }),
  middleware: listOf("functions", callback<Middleware>()).default([]),
  cors: corsOptionRule,
  health: flag().default(true),
  openapi: openapiOptionRule,
  mcp: mcpOptionRule,
  observability: observabilityOptionRule,
  adminUI: dashboardOptionRule,
  web: webOptionRule,
  securityHeaders: securityHeadersOptionRule,
  bodyLimit: whole({ from: 1 }).default(1024 * 1024),
  bodyTimeoutMs: timerMs().default(10_000),
  maxFields: whole({ from: 1 }),
  maxAnswerBytes: whole({ from: 1 }).default(16 * 1024 * 1024),
  queryTimeoutMs: timerMs().default(5_000),
  changes: changesOptionRules,
  search: searchOption(),
  searchOutbox: searchOutboxOptionRules,
  subscribe: groupOf<SubscribeOptions>()({
    maxPerUser: whole({ from: 1 }).default(10),
    maxPerAddress: whole({ from: 1 }).default(50),
  }).default({}),
  env: envOptionRule,
  observe: callback<Observer>(),
  runtime: objectWith<Runtime>(
    "an object with clock, random, observe and environment",
    ...["clock", "random", "observe", "environment"],
  ),
  ...listenOptionRules,
}).required();

function authenticatorOption() {
  return testedValue<Authenticator>(
    "an authenticator, like jwtAuth(…), or an object with a name and a function identify",
    (given) =>
      typeof given === "object" && given !== null && "name" in given &&
      typeof given.name === "string" &&
      ["identify", "open"].some((name) => typeof Reflect.get(given, name) === "function"),
  ).advising((given) =>
    typeof given === "function" && /Auth$/.test(given.name)
      ? `is the function ${given.name}: call it, as in ${given.name}({ … })`
      : null
  );
}

function searchOption() {
  return objectWith<SearchAdapter>(
    "a search adapter, like sqliteSearch()",
    ...["kind", "openIndex", "close"],
  ).advising((given) =>
    typeof given === "function" && /Search$/.test(given.name)
      ? `is the function ${given.name}: call it, as in ${given.name}()`
      : null
  );
}

function definitionOption() {
  return testedValue<ResourceDefinition>(
    "made by resource()",
    (given) =>
      typeof given === "object" && given !== null && "table" in given && "options" in given &&
      !isTableLike(given),
  ).advising((given) =>
    isTableLike(given)
      ? "must be made by resource(), not a table: write resource(table, options)"
      : null
  );
}
