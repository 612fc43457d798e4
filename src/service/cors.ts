import { cors } from "@hono/hono/cors";
import { type Described, either, group, type ReadGroup } from "../options/option.ts";
import { flag, other, whole } from "../options/option_kinds.ts";
import type { Middleware } from "./middleware.ts";

/** The options of CORS: which pages of other origins may call from a browser. */
export interface CorsOptions {
  /** Exact origins, or `*`. */
  readonly origin: string | readonly string[];
  /** Allows cookies; not together with `*`. */
  readonly credentials?: boolean | undefined;
  /** How many seconds a browser may cache the permission; 600 unless set. */
  readonly maxAge?: number | undefined;
}

const members = {
  origin: other<string | readonly string[]>(
    'an origin like "https://example.com", "*", or a list of origins',
    (given) => Array.isArray(given) ? given.length > 0 && given.every(isOrigin) : isOrigin(given),
  ).required(),
  credentials: flag().unlessSet(false),
  maxAge: whole({ from: 0 }).unlessSet(600),
} satisfies Described<CorsOptions>;

/** The option `cors`, described. */
export const corsOption = either(flag(), group(members)).unlessSet(false);

/** As a browser sends it: with its case, and with neither a path nor a slash at the end. */
function isOrigin(given: unknown): boolean {
  if (given === "*") return true;
  return typeof given === "string" && (URL.parse(given)?.origin === given || isOpaque(given));
}

/** The origin of an extension or an app, which a URL has none of: `tauri://localhost`. */
function isOpaque(given: string): boolean {
  return /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/.test(given);
}

/** Request headers that this service reads. */
const requestHeaders = [
  "Authorization",
  "Content-Type",
  "Idempotency-Key",
  "If-Match",
  "If-None-Match",
  "Last-Event-ID",
  "Service-Captcha-Token",
  "Service-Optimistic-Id",
  "Service-PoW-Challenge",
  "Service-PoW-Nonce",
  "X-API-Key",
];

/** Response headers that a browser may expose to a page. */
const answerHeaders = [
  "ETag",
  "Idempotency-Replayed",
  "Location",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "Service-Captcha-Action",
  "Service-Captcha-Provider",
  "Service-Captcha-Sitekey",
  "Service-Challenge-Type",
  "Service-PoW-Algorithm",
  "Service-PoW-Challenge",
  "Service-PoW-Difficulty",
];

/**
 * The middleware that answers preflights and adds CORS headers. `furtherHeader` is one more request
 * header that a page may send. Throws a plain Error for `*` with credentials.
 */
export function corsMiddleware(
  options: true | ReadGroup<typeof members>,
  furtherHeader?: string,
): Middleware {
  const { origin, credentials, maxAge } = options === true ? everyOrigin : options;
  if (credentials && [origin].flat().includes("*")) {
    throw new Error("Cannot allow credentials to every origin: name the origins in cors.origin");
  }
  return cors({
    origin: typeof origin === "string" ? origin : [...origin],
    credentials,
    maxAge,
    allowMethods: ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"],
    allowHeaders: furtherHeader === undefined ? requestHeaders : [...requestHeaders, furtherHeader],
    exposeHeaders: answerHeaders,
  });
}

const everyOrigin = group(members).required().read({ origin: "*" }, {
  subject: "Cannot start",
  path: "cors",
});
