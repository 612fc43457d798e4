import { Problem } from "../../problem/problem.ts";

/**
 * Whether a request comes from a page of this service's own origin, or of one that is trusted, by
 * what browsers send with every write (Fetch Metadata, and RFC 6454): null where it carries neither
 * header, as a program's request.
 */
export function isFromOwnPage(
  { headers, url }: Request,
  trustedOrigins: ReadonlySet<string>,
): boolean | null {
  const origin = headers.get("origin");
  if (origin !== null && trustedOrigins.has(origin)) return true;
  const site = headers.get("sec-fetch-site");
  // Another subdomain is `same-site`, and may belong to others. `none` is the user alone.
  if (site !== null) return site === "same-origin" || site === "none";
  if (origin === null) return null;
  // The schemes may differ where a proxy ends TLS, and `null` is the origin of a sandbox.
  const { protocol, host } = URL.parse(origin) ?? { protocol: "", host: "" };
  return host !== "" && hostOf(protocol, headers.get("host")) === host ||
    host !== "" && headers.get("host") === null && URL.parse(url)?.host === host;
}

/**
 * Requires that a write which carries a cookie comes from a page of this service: a browser sends the
 * cookie with the requests of any page. Throws a 403.
 */
export function requireOwnPage(request: Request, trustedOrigins: ReadonlySet<string>): void {
  if (isFromOwnPage(request, trustedOrigins) === true) return;
  throw new Problem(
    "forbidden",
    "Cannot use the cookie of this session: a write with it must come from a page of this service, " +
      'by its Origin or Sec-Fetch-Site (a program logs in with transport: "bearer")',
  );
}

/** Whether a request of this method may change something (RFC 9110, 9.2.1). */
export function isWrite(method: string): boolean {
  return method !== "GET" && method !== "HEAD" && method !== "OPTIONS";
}

/** The host as an origin with this scheme has it: without the port that the scheme has anyway. */
function hostOf(protocol: string, host: string | null): string | null {
  return host === null ? null : URL.parse(`${protocol}//${host}`)?.host ?? null;
}
