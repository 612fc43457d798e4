import { cors } from "@hono/hono/cors";
import { type Described, either, group, listOf, type OptionValues } from "../options/option.ts";
import { flag, testedValue, whole } from "../options/option_kinds.ts";
import type { Middleware } from "./middleware.ts";

/** The options of CORS: the origins whose pages may call the service from a browser. */
export interface CorsOptions {
  /** The allowed origins, exactly as browsers send them, or `*` for all. */
  readonly origin: string | readonly string[];
  /** True to allow cookies. Not allowed together with `*`. Default: false. */
  readonly credentials?: boolean | undefined;
  /** How long a browser may cache the response to a preflight, in seconds. Default: 600. */
  readonly maxAge?: number | undefined;
}

const origin = testedValue<string>('an origin like "https://example.com" or "*"', isOrigin)
  .advising(originMistake);
const origins = listOf("origins", origin).fitting("a list of origins", ({ length }) => length > 0);

const members = {
  origin: either(origin, origins).advising(originMistake).required(),
  credentials: flag().default(false),
  maxAge: whole({ from: 0 }).default(600),
} satisfies Described<CorsOptions>;

export const corsOptionRule = either(flag(), group(members)).default(false);

/** Returns true for an origin as browsers send it: in lower case, with no path or final slash. */
function isOrigin(given: unknown): boolean {
  if (given === "*") return true;
  return typeof given === "string" && (URL.parse(given)?.origin === given || isOpaque(given));
}

/** Returns true for the origin of a browser extension or an app, such as `tauri://localhost`. */
function isOpaque(given: string): boolean {
  return /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/.test(given);
}

function originMistake(given: unknown): string | null {
  if (typeof given !== "string") return null;
  const shown = JSON.stringify(given.slice(0, 100));
  const url = URL.parse(given);
  // This message does not repeat the value, which may include a password.
  if (given.includes("@")) return `has a user, and an origin has none: like "${exampleOrigin}"`;
  if (given.includes("*")) {
    return `is ${shown}, and patterns are not supported: name each origin, or allow "*"`;
  }
  if (url === null || !/^https?:$/.test(url.protocol)) {
    const like = URL.parse(`https://${given}`)?.host === given ? `https://${given}` : exampleOrigin;
    return `is ${shown}, which is no origin: it must be a scheme and a host, like "${like}"`;
  }
  const { origin, pathname, search, hash } = url;
  const isLonger = pathname + search + hash !== "/" || /[/?#]$/.test(given);
  const reason = isLonger
    ? "an origin has no path, not even a slash at its end"
    : "browsers send it in lower case, without the port that its scheme has anyway";
  return `is ${shown}, and ${reason}: write "${origin}"`;
}

const exampleOrigin = "https://example.com";

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

/** Creates the CORS middleware. Pages may send `furtherHeader`. Throws for `*` with credentials. */
export function corsMiddleware(
  options: true | OptionValues<typeof members>,
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
