import { invalidCheckout } from "../invalid_checkout.ts";

/**
 * Requires that a return URL has one of these origins. Otherwise a page of the provider, which the
 * customer trusts, could lead to any site. Returns the URL as it was parsed, because a provider or
 * a browser may parse the same string differently. Throws a 422.
 */
export function requireReturnUrl(
  path: string,
  url: string | undefined,
  origins: readonly string[],
): string | undefined {
  if (url === undefined) return undefined;
  const parsed = URL.parse(url);
  // A web URL treats a backslash as a slash; in RFC 3986 it may be a part of a user name.
  const isAllowed = parsed !== null && !url.includes("\\") && /^https?:$/.test(parsed.protocol) &&
    parsed.username === "" && parsed.password === "" && origins.includes(parsed.origin);
  if (isAllowed) return withPlaceholders(parsed.href);
  throw invalidCheckout([{ path, message: "must be a URL of an origin in returnOrigins" }]);
}

/** Restores placeholders in braces, such as {CHECKOUT_SESSION_ID}, which URLs encode in paths. */
function withPlaceholders(href: string): string {
  return href.replace(/%7B([A-Z][A-Z_]*)%7D/g, "{$1}");
}
