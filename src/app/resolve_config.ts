import type { ActAsOptions } from "../auth/act_as.ts";
import type { User } from "../auth/user.ts";
import type { AppConfig } from "./config.ts";
import { serviceOptionRules } from "./config_options.ts";
import type { ChangesOptions } from "../db/changes/changes_options.ts";
import {
  resolveAbuseProtection,
  type ResolvedAbuseProtection,
} from "../guard/abuse_protection_options.ts";
import type { ResolvedIdempotencyOptions } from "../idempotency/idempotency_options.ts";
import type { StreamQuotaLimits } from "../live/stream/stream_quota.ts";
import { type ResolvedMcp, resolveMcp } from "../mcp/mcp_options.ts";
import { type ResolvedOpenapi, resolveOpenapi } from "../openapi/openapi_options.ts";
import type { ReadCostLimits } from "../resource/model/resource.ts";
import { isInProduction } from "../runtime/production.ts";
import { isRandomSecret, resolveSecrets } from "../runtime/resolve_secrets.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { ResolvedSearchOutboxOptions } from "../search/outbox/search_outbox_options.ts";
import type { SearchAdapter } from "../search/search_adapter.ts";
import { corsMiddleware } from "../service/cors.ts";
import {
  resolveDashboard,
  type ResolvedDashboard,
} from "../service/dashboard/dashboard_options.ts";
import type { Middleware } from "../service/middleware.ts";
import {
  type ResolvedObservability,
  resolveObservability,
} from "../service/observability/observability_options.ts";
import type { SecurityHeaders } from "../service/responder.ts";

/** The configuration of an app, with a value for every option. */
export interface ResolvedConfig {
  readonly basePath: string;
  readonly secrets: readonly string[];
  /** The environment variables whose secrets are missing. The app uses random secrets instead. */
  readonly missingSecrets: readonly string[];
  readonly health: boolean;
  /** True if the app serves the OpenAPI document and the schema below `/__service`. */
  readonly describes: boolean;
  readonly openapi: ResolvedOpenapi;
  readonly mcp: ResolvedMcp | null;
  readonly observability: ResolvedObservability;
  readonly dashboard: ResolvedDashboard | null;
  readonly securityHeaders: SecurityHeaders;
  readonly bodyLimit: number;
  readonly bodyTimeoutMs: number;
  /** The maximum number of fields in a body, or null if it depends on the resource. */
  readonly maxFields: number | null;
  readonly reads: ReadCostLimits;
  readonly abuse: ResolvedAbuseProtection;
  readonly idempotency: ResolvedIdempotencyOptions | null;
  readonly mountedAt: string;
  /** The roles with which the database runs the statements of users; null for the login role. */
  readonly actAs: ActAsOptions | null;
  /** The middleware for cross-origin requests, or null if they are not allowed. */
  readonly cors: Middleware | null;
  readonly middleware: readonly Middleware[];
  /** The time after which the service reads a credential again, in milliseconds. */
  readonly recheckMs: number;
  /** Example users with which scopes that are plain functions are tested at startup. */
  readonly samples: readonly User[];
  /** The origins whose pages are allowed to send cookies. */
  readonly trustedOrigins: ReadonlySet<string>;
  readonly isProduction: boolean;
  readonly changes: ChangesOptions;
  readonly subscribe: StreamQuotaLimits;
  readonly search: SearchAdapter | null;
  readonly searchOutbox: ResolvedSearchOutboxOptions;
}

/** Validates the configuration and sets defaults. Throws a plain Error for an invalid option. */
export function resolveConfig(config: AppConfig, runtime: Runtime): ResolvedConfig {
  const read = serviceOptionRules.read(config, { subject: "Cannot start", path: "" });
  const { maxAnswerBytes, queryTimeoutMs, idempotency, cors } = read;
  const isProduction = isInProduction(read.env, runtime);
  return {
    basePath: read.basePath,
    mountedAt: read.mountedAt,
    actAs: read.actAs ?? null,
    secrets: resolveSecrets({
      given: read.secret,
      option: "secret",
      variable: "SERVICE_SECRET",
      consequence: "cursors end with this process",
      isProduction,
    }, runtime),
    missingSecrets: missingSecrets(config, runtime),
    health: read.health,
    describes: read.openapi !== false,
    openapi: resolveOpenapi(read.openapi),
    mcp: resolveMcp(read.mcp),
    observability: resolveObservability(read.observability),
    dashboard: resolveDashboard(read.adminUI, isProduction),
    securityHeaders: read.securityHeaders,
    bodyLimit: read.bodyLimit,
    bodyTimeoutMs: read.bodyTimeoutMs,
    maxFields: read.maxFields ?? null,
    reads: { maxAnswerBytes, queryTimeoutMs },
    abuse: resolveAbuseProtection(config.abuseProtection, isProduction, runtime),
    idempotency: idempotency === false ? null : idempotency,
    cors: cors === false ? null : corsMiddleware(cors, read.abuseProtection.captcha?.tokenHeader),
    middleware: read.middleware,
    recheckMs: read.auth.recheckMs,
    samples: read.auth.samples,
    trustedOrigins: new Set(
      typeof cors === "object" && cors.credentials ? [cors.origin].flat() : [],
    ),
    isProduction,
    changes: read.changes,
    subscribe: read.subscribe,
    search: read.search ?? null,
    searchOutbox: read.searchOutbox,
  };
}

function missingSecrets(
  { secret, abuseProtection }: AppConfig,
  runtime: Runtime,
): readonly string[] {
  const pow = abuseProtection?.pow;
  const sources = [
    { given: secret, variable: "SERVICE_SECRET" },
    ...(pow === undefined ? [] : [{ given: pow.secret, variable: "SERVICE_POW_SECRET" }]),
  ];
  return sources.filter((source) => isRandomSecret(source, runtime))
    .map(({ variable }) => variable);
}
