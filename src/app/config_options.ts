import type { ActAsOptions } from "../auth/act_as.ts";
import type { Authenticator, Router } from "../auth/authenticator.ts";
import { isStorable, parseUser, type User } from "../auth/user.ts";
import type { AuthOptions, ServiceConfig, SubscribeOptions } from "./config.ts";
import { changesOptionRules } from "../db/changes/changes_options.ts";
import { appDatabaseOption } from "../db/require_database.ts";
import { abuseProtectionOptionRules } from "../guard/abuse_protection_options.ts";
import { idempotencyOptionRules } from "../idempotency/idempotency_options.ts";
import { keyValueOptionRule } from "../kv/open_key_value_store.ts";
import { listenOptionRules, type ListenOptions } from "../listen/listener.ts";
import { mcpOptionRule } from "../mcp/mcp_options.ts";
import { openapiOptionRule } from "../openapi/openapi_options.ts";
import { type Described, group, listOf } from "../options/option.ts";
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
import type { ResourceDefinition } from "../resource/define/resource_definition.ts";
import { envOptionRule } from "../runtime/production.ts";
import { secretOptionRule } from "../runtime/resolve_secrets.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { isTableLike } from "../schema/table_like.ts";
import { searchOutboxOptionRules } from "../search/outbox/search_outbox_options.ts";
import type { SearchAdapter } from "../search/search_adapter.ts";
import { corsOptionRule } from "../service/cors.ts";
import type { Middleware } from "../service/middleware.ts";
import { dashboardOptionRule } from "../service/dashboard/dashboard_options.ts";
import { observabilityOptionRule } from "../service/observability/observability_options.ts";
import { securityHeadersOptionRule } from "../service/responder.ts";

const path = textLike(
  '"" or a path like "/api", with no slash at the end',
  /^(\/(?!\.{1,2}(\/|$))[\w.~-]+)*$/,
);

const roleName = textLike("", /./).fitting("the name of a role of the database", isStorable);

/** Descriptions of all options of a service: of its app and of its listener. */
export const serviceOptionRules = group(
  {
    db: appDatabaseOption().required(),
    resources: listOf("what resource(table, options) gives", definitionOption()).required(),
    basePath: path.default("/api"),
    mountedAt: path.default(""),
    secret: secretOptionRule(),
    kv: keyValueOptionRule(),
    abuseProtection: abuseProtectionOptionRules,
    idempotency: idempotencyOptionRules,
    auth: group(
      {
        use: listOf("authenticators, like jwtAuth(…)", authenticatorOption()).default([]),
        recheckMs: timerMs().default(5_000),
        routes: objectWith<Router>("a Hono app, or an object with a fetch", "fetch"),
        samples: listOf(
          'users, like { id: "ann" }',
          testedValue<User>("a user with an id", (given) => parseUser(given) !== null),
        ).default([]),
        middleware: callback<Middleware>(),
      } satisfies Described<AuthOptions>,
    ).advising((given) =>
      typeof given === "function" ? "is a function: write auth: { middleware }" : null
    ).default({}),
    actAs: group(
      {
        roles: listOf("names of roles", roleName).fitting(
          "a list of at least one role",
          (roles) => roles.length > 0,
        ).required(),
        as: synchronous<ActAsOptions["as"]>().required(),
        system: roleName,
      } satisfies Described<ActAsOptions>,
    ),
    middleware: listOf("functions", callback<Middleware>()).default([]),
    cors: corsOptionRule,
    health: flag().default(true),
    openapi: openapiOptionRule,
    mcp: mcpOptionRule,
    observability: observabilityOptionRule,
    adminUI: dashboardOptionRule,
    securityHeaders: securityHeadersOptionRule,
    bodyLimit: whole({ from: 1 }).default(1024 * 1024),
    bodyTimeoutMs: timerMs().default(10_000),
    maxFields: whole({ from: 1 }),
    maxAnswerBytes: whole({ from: 1 }).default(16 * 1024 * 1024),
    queryTimeoutMs: timerMs().default(5_000),
    changes: changesOptionRules,
    search: searchOption(),
    searchOutbox: searchOutboxOptionRules,
    subscribe: group(
      {
        maxPerUser: whole({ from: 1 }).default(10),
        maxPerAddress: whole({ from: 1 }).default(50),
      } satisfies Described<SubscribeOptions>,
    ).default({}),
    env: envOptionRule,
    runtime: objectWith<Runtime>(
      "an object with clock, random, observe and environment",
      ...["clock", "random", "observe", "environment"],
    ),
    ...listenOptionRules,
  } satisfies Described<ServiceConfig & ListenOptions>,
).required();

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
