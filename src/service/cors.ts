import { cors } from "@hono/hono/cors";
import type { Middleware } from "./middleware.ts";

/** Who may call from a browser on another origin. */
export interface CorsOptions {
  /** Exact origins, or `*`. */
  readonly origin: string | readonly string[];
  /** Allows cookies; not together with `*`. */
  readonly credentials?: boolean | undefined;
  /** Seconds that a browser may keep the permission. */
  readonly maxAge?: number | undefined;
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

/** Answer headers that a browser may show to a page. */
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
 * The middleware that answers preflights and marks answers. `furtherHeader` is one more that a page
 * may send. Throws for `*` with credentials.
 */
export function corsMiddleware(options: true | CorsOptions, furtherHeader?: string): Middleware {
  const { origin, credentials = false, maxAge = 600 } = options === true
    ? { origin: "*" }
    : options;
  if (credentials && (origin === "*" || origin.includes("*"))) {
    throw new Error("Cannot allow credentials to every origin: name the origins in cors.origin");
  }
  // Hono's context is a superset of what our own type names.
  return cors({
    origin: typeof origin === "string" ? origin : [...origin],
    credentials,
    maxAge,
    allowMethods: ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"],
    allowHeaders: furtherHeader === undefined ? requestHeaders : [...requestHeaders, furtherHeader],
    exposeHeaders: answerHeaders,
  }) as unknown as Middleware;
}
