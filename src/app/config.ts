import type { Authenticator, AuthenticatorDefinition, Router } from "../auth/authenticator.ts";
import type { ChangesOptions } from "../db/changes/changes_options.ts";
import type { DrizzleDatabase } from "../db/drizzle/drizzle_database.ts";
import type { AbuseProtectionOptions } from "../guard/abuse_protection_options.ts";
import type { IdempotencyOptions } from "../idempotency/idempotency_options.ts";
import type { KeyValueOption } from "../kv/open_key_value_store.ts";
import type { McpOptions } from "../mcp/mcp_options.ts";
import type { OpenapiOptions } from "../openapi/openapi_options.ts";
import type { ResourceDefinition } from "../resource/define/resource_definition.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { SearchOutboxOptions } from "../search/outbox/search_outbox_options.ts";
import type { SearchAdapter } from "../search/search_adapter.ts";
import type { CorsOptions } from "../service/cors.ts";
import type { DashboardOptions } from "../service/dashboard/dashboard_options.ts";
import type { Middleware } from "../service/middleware.ts";
import type { ObservabilityOptions } from "../service/observability/observability_options.ts";
import type { SecurityHeaders } from "../service/responder.ts";
import type { Database } from "../db/database.ts";

/** The configuration of an app. */
export interface AppConfig {
  /**
   * The database of resources without `db`. For a Drizzle database, the service opens its file or
   * server.
   */
  readonly db: Database | DrizzleDatabase;
  /** The tables that are served; see {@link resource}. */
  readonly resources: readonly ResourceDefinition[];
  /** The path below which resources are mounted; `/api` unless set. */
  readonly basePath?: string | undefined;
  /**
   * The path below which clients see this app, if a parent's `mount("/v1", app.fetch)` or a proxy
   * removes that path from the requests. `Location` headers and the `type` of problems begin with
   * it. Leave it unset for `parent.route("/v1", app.hono)`, where the app sees the path.
   */
  readonly mountedAt?: string | undefined;
  /**
   * The secret that seals cursors. In a list, the first secret seals new cursors and every secret
   * opens cursors, so secrets can be rotated. Default: the environment variable `SERVICE_SECRET`.
   * If neither is set, the secret is random and the service logs a notice. In production the start
   * fails instead.
   */
  readonly secret?: string | readonly string[] | undefined;
  /**
   * The store of limits, keys and balances: the path of a file, `:memory:`, an `https://` URL of KV
   * Connect, a `Deno.Kv` or a {@link KeyValue}. Default: the memory of the process, with a warning
   * when something is stored there for the first time.
   */
  readonly kv?: KeyValueOption | undefined;
  /** Budgets, proof of work and CAPTCHAs. None unless set. */
  readonly abuseProtection?: AbuseProtectionOptions | undefined;
  /** How repeated requests with an `Idempotency-Key` are recognized. `false` ignores the header. */
  readonly idempotency?: false | IdempotencyOptions | undefined;
  /** Authentication: routes to log in at, and the ways to identify the user of a request. */
  readonly auth?: AuthOptions | undefined;
  /**
   * Middleware that runs before all routes, in this order, after the user is identified. Any Hono
   * middleware works.
   */
  readonly middleware?: readonly Middleware[] | undefined;
  /** Cross-origin requests. Off unless set; `true` allows every origin, without credentials. */
  readonly cors?: boolean | CorsOptions | undefined;
  /** `/healthz` and `/readyz`. On unless false. */
  readonly health?: boolean | undefined;
  /**
   * The descriptions of the service below `/__service`: its OpenAPI document and its schema.
   * Default: on. The index at the base path is always served.
   */
  readonly openapi?: boolean | OpenapiOptions | undefined;
  /**
   * MCP at `/__service/mcp`. Programs of language models use the service through it, with the
   * rights of their caller. Default: off. MCP is read-only unless the option is `{ write: true }`.
   */
  readonly mcp?: boolean | McpOptions | undefined;
  /** Metrics at `/__service/metrics`, and the other observability. Off unless set. */
  readonly observability?: boolean | ObservabilityOptions | undefined;
  /**
   * The dashboard at `/__service/ui`, for the operator. It shows and changes every row. Off unless
   * set. Only this machine may use it unless `authorize` decides, which production requires.
   */
  readonly adminUI?: boolean | DashboardOptions | undefined;
  /** `X-Content-Type-Options`, `X-Frame-Options`, `Referrer-Policy`; on unless false. */
  readonly securityHeaders?: SecurityHeaders | undefined;
  /** The largest body, in bytes; 1 MiB unless set. */
  readonly bodyLimit?: number | undefined;
  /** The longest time that a body may take to arrive, in milliseconds; 10,000 unless set. */
  readonly bodyTimeoutMs?: number | undefined;
  /**
   * The maximum number of fields in a body, including the fields of nested objects. Default:
   * 20,000, or more if the resource's largest batch needs more.
   */
  readonly maxFields?: number | undefined;
  /**
   * The maximum size of a response, in bytes, except for exports and streams. A larger response
   * fails with 422. Default: 16 MiB.
   */
  readonly maxAnswerBytes?: number | undefined;
  /** The timeout of one query of a read, in milliseconds. Default: 5,000. */
  readonly queryTimeoutMs?: number | undefined;
  /** The recording of changes for live streams, and its retention. */
  readonly changes?: ChangesOptions | undefined;
  /** The engine of `GET /search`, like `sqliteSearch()`. There is no search unless set. */
  readonly search?: SearchAdapter | undefined;
  /** The draining of the search outbox, for resources with `search.outbox`. */
  readonly searchOutbox?: SearchOutboxOptions | undefined;
  /** The limits of open live streams. */
  readonly subscribe?: SubscribeOptions | undefined;
  /**
   * `production` rejects settings that suit only development. Read from `SERVICE_ENV` unless set.
   */
  readonly env?: "development" | "production" | undefined;
  /** Clock, random numbers, environment and observer; the real ones unless set. */
  readonly runtime?: Runtime | undefined;
}

/** The limits of open live streams in one process. A further stream fails with 429. */
export interface SubscribeOptions {
  /** The limit of one user; 10 unless set. */
  readonly maxPerUser?: number | undefined;
  /** The limit of one address; 50 unless set. */
  readonly maxPerAddress?: number | undefined;
}

/** The app's configuration of authentication: how users log in and are identified. */
export interface AuthOptions {
  /**
   * The authenticators, in the order in which the service tries them. The first that recognizes a
   * credential identifies the user. The subpath `auth` exports `jwtAuth`, `apiKeyAuth` and
   * `passwordAuth`.
   */
  readonly use?: readonly (Authenticator | AuthenticatorDefinition)[] | undefined;
  /**
   * How long the service trusts a session, a key or an account before it reads it again, in
   * milliseconds; 5,000 unless set. It applies to requests and open streams.
   */
  readonly recheckMs?: number | undefined;
  /**
   * The routes at `{basePath}/auth`: a Hono app, or an object with a `fetch`. A Hono app shares the
   * context of the service's own Hono app.
   */
  readonly routes?: Router | undefined;
  /** Middleware that identifies the user and sets it: `c.set("user", { id })`. Runs after `use`. */
  readonly middleware?: Middleware | undefined;
}

/** The configuration of an app whose database is open. */
export interface OpenConfig extends AppConfig {
  /** The database of every resource without `db`. */
  readonly db: Database;
}

/** The configuration of a service: its app, and the address and port of its listener. */
export interface ServiceConfig extends AppConfig {
  /** The port; 8000 unless set. 0 takes a free port. */
  readonly port?: number | undefined;
  /** The address to bind; `127.0.0.1` unless set. */
  readonly host?: string | undefined;
}
