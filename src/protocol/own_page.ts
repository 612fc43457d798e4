/**
 * Returns true if a request comes from a page of this service's own origin, or of one that is trusted, by
 * what browsers send with every write (Fetch Metadata, and RFC 6454): null if it carries neither
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

/** The host as an origin with this scheme has it: without the port that the scheme has anyway. */
function hostOf(protocol: string, host: string | null): string | null {
  return host === null ? null : URL.parse(`${protocol}//${host}`)?.host ?? null;
}
