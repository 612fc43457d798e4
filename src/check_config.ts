import type { AppConfig, AuthOptions, ServiceConfig, SubscribeOptions } from "./config.ts";
import type { ChangesOptions } from "./db/changes/changes_options.ts";
import { requireDatabase } from "./db/require_database.ts";
import { requireKnownOptions } from "./problem/require_known_options.ts";
import { showValue } from "./problem/show_value.ts";
import type { CorsOptions } from "./service/cors.ts";
import { isLoopback } from "./protocol/loopback.ts";
import type { ListenOptions } from "./listener.ts";
import { tableInfoKey } from "./schema/table_like.ts";

/**
 * Checks the configuration of an app for what its types refuse, for programs in JavaScript and
 * unchecked values: one sentence that names the option. What the values mean is checked where they
 * are resolved.
 */
export function checkConfig(config: AppConfig): void {
  requireKnownOptions(config, knownOptions, "Cannot start: the service");
  requireDatabase(config.db, "Cannot start");
  checkResources(config.resources);
  checkAuth(config.auth);
  checkCors(config.cors);
  checkGroup("changes", config.changes, knownChangesOptions);
  checkGroup("subscribe", config.subscribe, knownSubscribeOptions);
  checkKv(config.kv);
  const { middleware } = config;
  if (middleware !== undefined && !Array.isArray(middleware)) {
    throw new Error(`Cannot start: middleware must be a list, not ${showValue(middleware)}`);
  }
}

/** Includes those of a listener: `serve` and the command line pass the whole configuration. */
const knownOptions: Readonly<
  Record<keyof ServiceConfig | keyof ListenOptions, true>
> = {
  db: true,
  resources: true,
  basePath: true,
  mountedAt: true,
  secret: true,
  kv: true,
  abuseProtection: true,
  idempotency: true,
  auth: true,
  middleware: true,
  cors: true,
  health: true,
  securityHeaders: true,
  bodyLimit: true,
  bodyTimeoutMs: true,
  maxFields: true,
  maxAnswerBytes: true,
  queryTimeoutMs: true,
  changes: true,
  subscribe: true,
  env: true,
  runtime: true,
  port: true,
  host: true,
  onListen: true,
  stopDeadlineMs: true,
  drainMs: true,
};

const knownAuthOptions: Readonly<Record<keyof AuthOptions, true>> = {
  routes: true,
  middleware: true,
};

const knownCorsOptions: Readonly<Record<keyof CorsOptions, true>> = {
  origin: true,
  credentials: true,
  maxAge: true,
};

const knownChangesOptions: Readonly<Record<keyof ChangesOptions, true>> = {
  mode: true,
  exclude: true,
  retentionMs: true,
  maxRows: true,
};

const knownSubscribeOptions: Readonly<Record<keyof SubscribeOptions, true>> = {
  maxPerUser: true,
  maxPerAddress: true,
};

function checkResources(resources: unknown): void {
  if (resources === undefined) {
    throw new Error("Cannot start: resources is missing: list what resource(table, options) gives");
  }
  if (!Array.isArray(resources)) {
    throw new Error(`Cannot start: resources must be a list, not ${showValue(resources)}`);
  }
  resources.forEach((one: unknown, index) => {
    if (isDefinition(one)) return;
    const what = isTable(one) ? "a table: write resource(table, options)" : showValue(one);
    throw new Error(`Cannot start: resources[${index}] must be made by resource(), not ${what}`);
  });
}

function isDefinition(value: unknown): boolean {
  return typeof value === "object" && value !== null && !isTable(value) &&
    "table" in value && "options" in value;
}

function isTable(value: unknown): boolean {
  return typeof value === "object" && value !== null && tableInfoKey in value;
}

function checkAuth(auth: unknown): void {
  if (auth === undefined) return;
  if (typeof auth === "function") {
    throw new Error("Cannot start: auth is a function: write auth: { middleware }");
  }
  checkGroup("auth", auth, knownAuthOptions);
}

function checkCors(cors: unknown): void {
  if (cors === undefined || typeof cors === "boolean") return;
  checkGroup("cors", cors, knownCorsOptions);
  const origin = "origin" in cors ? cors.origin : undefined;
  if (typeof origin === "string" || Array.isArray(origin)) return;
  throw new Error(
    `Cannot start: cors.origin must be an origin like "https://example.com", "*" or a list, ` +
      `not ${showValue(origin)}`,
  );
}

function checkGroup(
  name: string,
  group: unknown,
  known: Readonly<Record<string, true>>,
): asserts group is object | undefined {
  if (group === undefined) return;
  if (typeof group !== "object" || group === null) {
    throw new Error(`Cannot start: ${name} must be an object, not ${showValue(group)}`);
  }
  requireKnownOptions(group, known, `Cannot start: ${name}`);
}

function checkKv(kv: unknown): void {
  if (kv === undefined) return;
  if (typeof kv === "string") {
    if (kv === "") throw new Error("Cannot start: kv is an empty text: give it a path");
    const [, scheme = "https"] = /^([a-z][a-z0-9+.-]+):\/\//i.exec(kv) ?? [];
    if (/^https$/i.test(scheme)) return;
    if (!/^http$/i.test(scheme)) {
      throw new Error(
        `Cannot start: kv takes a path, ":memory:" or an https:// URL, not one of ${scheme}://`,
      );
    }
    // The token and every record would cross the network in clear text.
    if (isLoopback(hostOf(kv))) return;
    throw new Error("Cannot start: kv takes http:// on this machine alone: use https://");
  }
  if (kv instanceof Promise) {
    throw new Error("Cannot start: kv is a promise: write kv: await Deno.openKv()");
  }
  if (typeof kv === "object" && kv !== null && ("atomic" in kv || "commit" in kv)) return;
  throw new Error(`Cannot start: kv must be a text, a Deno.Kv or a KeyValue, not ${showValue(kv)}`);
}

/** The host of a URL; the empty text for an invalid one. */
function hostOf(url: string): string {
  const { hostname = "" } = URL.parse(url) ?? {};
  return hostname.replace(/^\[(.*)\]$/, "$1");
}
