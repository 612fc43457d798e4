import { checkConfig } from "./check_config.ts";
import type { AppConfig } from "./config.ts";
import { type ChangesOptions, resolveChangesOptions } from "./db/changes/changes_options.ts";
import {
  resolveAbuseProtection,
  type ResolvedAbuseProtection,
} from "./guard/abuse_protection_options.ts";
import {
  type ResolvedIdempotencyOptions,
  resolveIdempotencyOptions,
} from "./idempotency/idempotency_options.ts";
import type { StreamQuotaLimits } from "./live/stream/stream_quota.ts";
import type { ReadCosts } from "./resource/define/resource.ts";
import { isOnDenoDeploy } from "./runtime/deno_deploy.ts";
import { isRandomSecret, resolveSecrets } from "./runtime/resolve_secrets.ts";
import type { Runtime } from "./runtime/runtime.ts";
import { corsMiddleware } from "./service/cors.ts";
import type { Middleware } from "./service/middleware.ts";
import type { SecurityHeaders } from "./service/responder.ts";

/** The configuration of an app with every default resolved. */
export interface ResolvedConfig {
  readonly basePath: string;
  readonly secrets: readonly string[];
  /** The environment variables that would set the secrets that are random now. */
  readonly missingSecrets: readonly string[];
  readonly health: boolean;
  readonly securityHeaders: SecurityHeaders;
  readonly bodyLimit: number;
  readonly bodyTimeoutMs: number;
  /** Null where it depends on the resource. */
  readonly maxFields: number | null;
  readonly reads: ReadCosts;
  readonly abuse: ResolvedAbuseProtection;
  readonly idempotency: ResolvedIdempotencyOptions | null;
  readonly mountedAt: string;
  /** Null where pages of other origins are not allowed. */
  readonly cors: Middleware | null;
  readonly middleware: readonly Middleware[];
  readonly changes: ChangesOptions;
  readonly subscribe: StreamQuotaLimits;
}

/**
 * Resolves the configuration of an app: checks its options and sets the defaults, once, at start.
 * Throws a plain Error that names the option at fault.
 */
export function resolveConfig(config: AppConfig, runtime: Runtime): ResolvedConfig {
  checkConfig(config);
  const {
    basePath = "/api",
    health = true,
    securityHeaders = true,
    bodyLimit = 1024 * 1024,
    bodyTimeoutMs = 10_000,
    maxFields = null,
    maxAnswerBytes = 16 * 1024 * 1024,
    queryTimeoutMs = 5_000,
    mountedAt = "",
    middleware = [],
    subscribe: { maxPerUser = 10, maxPerAddress = 50 } = {},
  } = config;
  requirePath(basePath, "basePath");
  requirePath(mountedAt, "mountedAt");
  requirePositive(bodyLimit, "bodyLimit");
  requirePositive(bodyTimeoutMs, "bodyTimeoutMs");
  if (maxFields !== null) requirePositive(maxFields, "maxFields");
  requirePositive(maxAnswerBytes, "maxAnswerBytes");
  requirePositive(queryTimeoutMs, "queryTimeoutMs");
  requirePositive(maxPerUser, "subscribe.maxPerUser");
  requirePositive(maxPerAddress, "subscribe.maxPerAddress");
  resolveChangesOptions(config.changes);
  return {
    basePath,
    secrets: resolveSecrets({
      given: config.secret,
      option: "secret",
      variable: "SERVICE_SECRET",
      consequence: "cursors end with this process",
      isProduction: isProduction(config, runtime),
    }, runtime),
    missingSecrets: missingSecrets(config, runtime),
    health,
    securityHeaders,
    bodyLimit,
    bodyTimeoutMs,
    maxFields,
    reads: { maxAnswerBytes, queryTimeoutMs },
    abuse: resolveAbuseProtection(config.abuseProtection, isProduction(config, runtime), runtime),
    idempotency: resolveIdempotencyOptions(config.idempotency),
    mountedAt,
    cors: resolveCors(config),
    middleware,
    changes: config.changes ?? {},
    subscribe: { maxPerUser, maxPerAddress },
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

function resolveCors({ cors = false, abuseProtection }: AppConfig): Middleware | null {
  return cors === false ? null : corsMiddleware(cors, abuseProtection?.captcha?.tokenHeader);
}

function requirePath(path: string, option: string): void {
  if (/^(\/[\w.~-]+)*$/.test(path)) return;
  throw new Error(
    `Cannot use ${option} "${path}": it is "" or like "/api", with no slash at the end`,
  );
}

function isProduction(config: AppConfig, runtime: Runtime): boolean {
  const env = config.env ?? runtime.environment("SERVICE_ENV");
  return env === "production" || isOnDenoDeploy(runtime);
}

function requirePositive(value: number, option: string): void {
  if (Number.isSafeInteger(value) && value > 0) return;
  throw new Error(`Cannot use ${option} ${value}: it must be a whole number over 0`);
}
