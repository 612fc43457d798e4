/** Null without `Sec-Fetch-Site` and `Origin`. For a write, browsers send at least one of them. */
export function isFromOwnPage(
  { headers, url }: Request,
  trustedOrigins: ReadonlySet<string>,
): boolean | null {
  const origin = headers.get("origin");
  if (origin !== null && trustedOrigins.has(origin)) return true;
  const site = headers.get("sec-fetch-site");
  // `none`: the user opened the URL. `same-site`: another subdomain, perhaps of another owner.
  if (site !== null) return site === "same-origin" || site === "none";
  if (origin === null) return null;
  // Compares only hosts, because a proxy can terminate TLS. A sandboxed page has the origin `null`.
  const { protocol, host } = URL.parse(origin) ?? { protocol: "", host: "" };
  return host !== "" && hostOf(protocol, headers.get("host")) === host ||
    host !== "" && headers.get("host") === null && URL.parse(url)?.host === host;
}

/** Returns the host without the default port of the scheme, because origins omit this port. */
function hostOf(protocol: string, host: string | null): string | null {
  return host === null ? null : URL.parse(`${protocol}//${host}`)?.host ?? null;
}
