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

/** The configuration of an app: every option of it. */
export interface AppConfig {
  /** The database of every resource without `db`; also one of Drizzle, whose file or server it is. */
  readonly db: Database | DrizzleDatabase;
  /** The tables that are served; see {@link resource}. */
  readonly resources: readonly ResourceDefinition[];
  /** The path below which resources are mounted; `/api` unless set. */
  readonly basePath?: string | undefined;
  /**
   * Where clients see this app, if something takes that path off the requests: a parent's
   * `mount("/v1", app.fetch)`, or a proxy. `Location` headers and the `type` of problems begin with
   * it. Not for `parent.route("/v1", app.hono)`, where the app sees the path.
   */
  readonly mountedAt?: string | undefined;
  /**
   * Seals cursors. A list rotates: the first seals, all open. Unset, `SERVICE_SECRET` is used;
   * without that it is random, with a notice, and in production the start fails.
   */
  readonly secret?: string | readonly string[] | undefined;
  /**
   * Where limits, keys and balances are kept: the path of a file, `:memory:`, an `https://` URL of
   * KV Connect, a `Deno.Kv` or a {@link KeyValue}. Unset it is the memory of the process, with a
   * warning once something is kept there.
   */
  readonly kv?: KeyValueOption | undefined;
  /** Budgets, proof of work and CAPTCHAs. None unless set. */
  readonly abuseProtection?: AbuseProtectionOptions | undefined;
  /**
   * How repetitions of a request with an `Idempotency-Key` are recognized; `false` ignores the
   * header.
   */
  readonly idempotency?: false | IdempotencyOptions | undefined;
  /** Authentication: routes to log in at, and how the user of a request is identified. */
  readonly auth?: AuthOptions | undefined;
  /** Runs before all routes, once the user is identified, in this order; any Hono middleware. */
  readonly middleware?: readonly Middleware[] | undefined;
  /** Cross-origin requests. Off unless set; `true` allows every origin, without credentials. */
  readonly cors?: boolean | CorsOptions | undefined;
  /** `/healthz` and `/readyz`. On unless false. */
  readonly health?: boolean | undefined;
  /**
   * The descriptions of the service below `/__service`: its OpenAPI document and its schema. On
   * unless false; the index at the base path is always there.
   */
  readonly openapi?: boolean | OpenapiOptions | undefined;
  /**
   * MCP at `/__service/mcp`, by which programs of language models use the service with the rights of
   * their caller. Off unless set; read-only unless `{ write: true }`.
   */
  readonly mcp?: boolean | McpOptions | undefined;
  /**
   * What the service shows of its own work: metrics at `/__service/metrics`. Off unless set.
   */
  readonly observability?: boolean | ObservabilityOptions | undefined;
  /**
   * The dashboard at `/__service/ui`, for the person who runs the service: it sees and changes every
   * row. Off unless set. Only this machine may use it unless `authorize` decides, which production
   * requires.
   */
  readonly adminUI?: boolean | DashboardOptions | undefined;
  /** `X-Content-Type-Options`, `X-Frame-Options`, `Referrer-Policy`; on unless false. */
  readonly securityHeaders?: SecurityHeaders | undefined;
  /** The largest body in bytes; 1 MiB unless set. */
  readonly bodyLimit?: number | undefined;
  /** The longest time in milliseconds that a body may take to arrive; 10,000 unless set. */
  readonly bodyTimeoutMs?: number | undefined;
  /**
   * The most fields of a body, those of all its objects together; 20,000 unless set, or as many as
   * the largest batch of the resource has.
   */
  readonly maxFields?: number | undefined;
  /** The largest answer in bytes, exports and streams aside; 16 MiB unless set. More is a 422. */
  readonly maxAnswerBytes?: number | undefined;
  /** The longest time in milliseconds that one query of a read may run; 5,000 unless set. */
  readonly queryTimeoutMs?: number | undefined;
  /** How changes are recorded for live streams, and for how long. */
  readonly changes?: ChangesOptions | undefined;
  /** The engine of `GET /search`, like `sqliteSearch()`. There is no search unless set. */
  readonly search?: SearchAdapter | undefined;
  /** How the search outbox is drained, of resources with `search.outbox`. */
  readonly searchOutbox?: SearchOutboxOptions | undefined;
  /** How many live streams may be open. */
  readonly subscribe?: SubscribeOptions | undefined;
  /** `production` refuses what only suits development. Read from `SERVICE_ENV` unless set. */
  readonly env?: "development" | "production" | undefined;
  /** Clock, chance, environment and observer; the real ones unless set. */
  readonly runtime?: Runtime | undefined;
}

/**
 * The app's configuration of live streams: how many may be open at once in one process; one more is
 * a 429.
 */
export interface SubscribeOptions {
  /** Of one user, 10 unless set. */
  readonly maxPerUser?: number | undefined;
  /** From one address, 50 unless set. */
  readonly maxPerAddress?: number | undefined;
}

/** The app's configuration of authentication: how users log in and are identified. */
export interface AuthOptions {
  /**
   * The authenticators, in the order in which they are asked: the first that recognizes a credential
   * identifies the user. `jwtAuth`, `apiKeyAuth` and `passwordAuth` of the subpath `auth` give some.
   */
  readonly use?: readonly (Authenticator | AuthenticatorDefinition)[] | undefined;
  /**
   * How long in milliseconds a session, a key or an account is trusted before it is read again, in
   * requests and for open streams; 5,000 unless set.
   */
  readonly recheckMs?: number | undefined;
  /**
   * Mounted at `{basePath}/auth`: a Hono app, which shares the context of this one, or anything that
   * has a `fetch`.
   */
  readonly routes?: Router | undefined;
  /** Identifies the user and sets it: `c.set("user", { id })`. Runs after `use`. */
  readonly middleware?: Middleware | undefined;
}

/** The configuration of an app whose database is open. */
export interface OpenConfig extends AppConfig {
  /** The database of every resource without `db`. */
  readonly db: Database;
}

/** The configuration of a service: that of its app, and the address and port it listens on. */
export interface ServiceConfig extends AppConfig {
  /** 8000 unless set; 0 takes a free port. */
  readonly port?: number | undefined;
  /** The address to bind; `127.0.0.1` unless set. */
  readonly host?: string | undefined;
}
