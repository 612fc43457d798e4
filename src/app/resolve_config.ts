import { type AppConfig, serviceOptionRules } from "./config.ts";
import { resolveAbuseProtection } from "../guard/abuse_protection_options.ts";
import { resolveMcp } from "../mcp/mcp_options.ts";
import { resolveOpenapi } from "../openapi/openapi_options.ts";
import { isInProduction } from "../runtime/production.ts";
import { isRandomSecret, resolveSecrets } from "../runtime/resolve_secrets.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { corsMiddleware } from "../service/cors.ts";
import { resolveDashboard } from "../service/dashboard/dashboard_options.ts";
import { resolveWeb } from "../service/web/web_options.ts";
import { resolveObservability } from "../service/observability/observability_options.ts";

export type ResolvedConfig = ReturnType<typeof resolveConfig>;

export function resolveConfig(config: AppConfig, runtime: Runtime) {
  const read = serviceOptionRules.read(config, { subject: "Cannot start", path: "" });
  const { maxAnswerBytes, queryTimeoutMs, idempotency, cors } = read;
  const { basePath, mountedAt, health, securityHeaders, bodyLimit, bodyTimeoutMs } = read;
  const { middleware, changes, subscribe, searchOutbox, auth: { recheckMs, samples } } = read;
  const isProduction = isInProduction(read.env, runtime);
  return {
    ...{ basePath, mountedAt, health, securityHeaders, bodyLimit, bodyTimeoutMs, middleware },
    ...{ changes, subscribe, searchOutbox, recheckMs, samples, isProduction },
    actAs: read.actAs ?? null,
    secrets: resolveSecrets({
      given: read.secret,
      option: "secret",
      variable: "SERVICE_SECRET",
      consequence: "cursors end with this process",
      isProduction,
    }, runtime),
    missingSecrets: missingSecrets(config, runtime),
    describes: read.openapi !== false,
    openapi: resolveOpenapi(read.openapi),
    mcp: resolveMcp(read.mcp),
    observability: resolveObservability(read.observability),
    dashboard: resolveDashboard(read.adminUI, isProduction),
    web: resolveWeb(read.web, { basePath, isProduction }),
    // Null if the option is absent. Each resource then has its own maximum number of fields.
    maxFields: read.maxFields ?? null,
    reads: { maxAnswerBytes, queryTimeoutMs },
    abuse: resolveAbuseProtection(config.abuseProtection, isProduction, runtime),
    idempotency: idempotency === false ? null : idempotency,
    cors: cors === false ? null : corsMiddleware(cors, read.abuseProtection.captcha?.tokenHeader),
    trustedOrigins: new Set(
      typeof cors === "object" && cors.credentials ? [cors.origin].flat() : [],
    ),
    search: read.search ?? null,
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
