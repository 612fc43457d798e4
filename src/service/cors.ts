import { cors } from "@hono/hono/cors";
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
export function corsMiddleware(options: true | CorsOptions, furtherHeader?: string): Middleware {
  const { origin, credentials = false, maxAge = 600 } = options === true
    ? { origin: "*" }
    : options;
  if (credentials && (origin === "*" || origin.includes("*"))) {
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
