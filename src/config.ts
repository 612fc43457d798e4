import { checkConfig } from "./check_config.ts";
import { type ChangesOptions, resolveChangesOptions } from "./db/changes/changes_options.ts";
import type { Database } from "./db/open_database.ts";
import {
  type AbuseProtectionOptions,
  resolveAbuseProtection,
  type ResolvedAbuseProtection,
} from "./guard/abuse_protection_options.ts";
import {
  type IdempotencyOptions,
  type ResolvedIdempotencyOptions,
  resolveIdempotencyOptions,
} from "./idempotency/idempotency_options.ts";
import type { StreamQuotaLimits } from "./live/stream/stream_quota.ts";
import type { ResourceDefinition } from "./resource/define/definition.ts";
import type { KeyValueOption } from "./kv/open_key_value_store.ts";
import type { Runtime } from "./runtime/runtime.ts";
import { isRandomSecret, resolveSecrets } from "./runtime/resolve_secrets.ts";
import { corsMiddleware, type CorsOptions } from "./service/cors.ts";
import type { Middleware, Router } from "./service/middleware.ts";
import type { SecurityHeaders } from "./service/respond.ts";

/** Everything an app can be told. */
export interface AppConfig {
  /** The database of every resource that names none of its own. */
  readonly db: Database;
  /** The tables that are served; see {@link resource}. */
  readonly resources: readonly ResourceDefinition[];
  /** The path below which resources are mounted; `/api` unless set. */
  readonly basePath?: string | undefined;
  /**
   * Seals cursors. A list rotates: the first seals, all open. Unset, `SERVICE_SECRET` is read;
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
   * How a request with an `Idempotency-Key` is told from its repetitions; `false` does not look at
   * the header.
   */
  readonly idempotency?: false | IdempotencyOptions | undefined;
  /** Who is calling: routes to log in at, and how a request is identified. */
  readonly auth?: AuthOptions | undefined;
  /** Runs before everything else, in this order; any Hono middleware. */
  readonly middleware?: readonly Middleware[] | undefined;
  /** Cross-origin requests. Off unless set; `true` allows every origin, without credentials. */
  readonly cors?: boolean | CorsOptions | undefined;
  /** `/healthz` and `/readyz`. On unless false. */
  readonly health?: boolean | undefined;
  /** `X-Content-Type-Options`, `X-Frame-Options`, `Referrer-Policy`; on unless false. */
  readonly securityHeaders?: SecurityHeaders | undefined;
  /** The largest body in bytes; 1 MiB unless set. */
  readonly bodyLimit?: number | undefined;
  /** The longest time in milliseconds that a body may take to arrive; 10,000 unless set. */
  readonly bodyTimeoutMs?: number | undefined;
  /** How changes are recorded for live streams, and for how long. */
  readonly changes?: ChangesOptions | undefined;
  /** How many live streams may be open. */
  readonly subscribe?: SubscribeOptions | undefined;
  /** `production` refuses what only suits development. Read from `SERVICE_ENV` unless set. */
  readonly env?: "development" | "production" | undefined;
  /** Clock, chance, environment and observer; the real ones unless set. */
  readonly runtime?: Runtime | undefined;
}

/** How many live streams may be open at once in one process; beyond, opening one is a 429. */
export interface SubscribeOptions {
  /** Of one user, 10 unless set. */
  readonly maxPerUser?: number | undefined;
  /** From one address, 50 unless set. */
  readonly maxPerAddress?: number | undefined;
}

/** Who is calling. */
export interface AuthOptions {
  /** Mounted at `{basePath}/auth`; any Hono app. */
  readonly routes?: Router | undefined;
  /** Finds the caller and sets it: `c.set("user", { id })`. */
  readonly middleware?: Middleware | undefined;
}

/** An app and where it listens. */
export interface ServiceConfig extends AppConfig {
  /** 8000 unless set; 0 takes a free one. */
  readonly port?: number | undefined;
  /** The address to bind; `127.0.0.1` unless set. */
  readonly host?: string | undefined;
}

/** An app's options with every default in its place. */
export interface ResolvedConfig {
  readonly basePath: string;
  readonly secrets: readonly string[];
  /** The variables that would set what is random instead. */
  readonly missingSecrets: readonly string[];
  readonly health: boolean;
  readonly securityHeaders: SecurityHeaders;
  readonly bodyLimit: number;
  readonly bodyTimeoutMs: number;
  readonly abuse: ResolvedAbuseProtection;
  readonly idempotency: ResolvedIdempotencyOptions | null;
  readonly middleware: readonly Middleware[];
  readonly changes: ChangesOptions;
  readonly subscribe: StreamQuotaLimits;
}

/** Checks the options once, at start. Throws a plain Error that names the option at fault. */
export function resolveConfig(config: AppConfig, runtime: Runtime): ResolvedConfig {
  checkConfig(config);
  const {
    basePath = "/api",
    health = true,
    securityHeaders = true,
    bodyLimit = 1024 * 1024,
    bodyTimeoutMs = 10_000,
    middleware = [],
    auth = {},
    subscribe: { maxPerUser = 10, maxPerAddress = 50 } = {},
  } = config;
  if (!/^(\/[\w.~-]+)*$/.test(basePath)) {
    throw new Error(
      `Cannot use basePath "${basePath}": it is "" or like "/api", with no slash behind`,
    );
  }
  const own = auth.middleware === undefined ? [] : [auth.middleware];
  requirePositive(bodyLimit, "bodyLimit");
  requirePositive(bodyTimeoutMs, "bodyTimeoutMs");
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
    abuse: resolveAbuseProtection(config.abuseProtection, isProduction(config, runtime), runtime),
    idempotency: resolveIdempotencyOptions(config.idempotency),
    middleware: [...corsBefore(config), ...middleware, ...own],
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

/** First of all, so that what is refused by the others can be read by a page as well. */
function corsBefore({ cors = false, abuseProtection }: AppConfig): readonly Middleware[] {
  const { tokenHeader } = abuseProtection?.captcha ?? {};
  return cors === false ? [] : [corsMiddleware(cors, tokenHeader)];
}

function isProduction(config: AppConfig, runtime: Runtime): boolean {
  const env = config.env ?? runtime.environment("SERVICE_ENV");
  return env === "production" || runtime.environment("DENO_DEPLOYMENT_ID") !== undefined ||
    runtime.environment("DENO_DEPLOY") !== undefined;
}

function requirePositive(value: number, option: string): void {
  if (Number.isSafeInteger(value) && value > 0) return;
  throw new Error(`Cannot use ${option} ${value}: it must be a whole number over 0`);
}
