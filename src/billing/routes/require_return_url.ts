import { invalidCheckout } from "../invalid_checkout.ts";

/**
 * Requires that a URL to return to has one of these origins: else a page of the provider that the
 * customer trusts would lead to any other. Gives the URL as it was understood, since a provider or a
 * browser may read the same string in another way. Throws a 422.
 */
export function requireReturnUrl(
  path: string,
  url: string | undefined,
  origins: readonly string[],
): string | undefined {
  if (url === undefined) return undefined;
  const parsed = URL.parse(url);
  // In a URL of the web a backslash is a slash; for RFC 3986 it is not, and may be of a user's name.
  const isAllowed = parsed !== null && !url.includes("\\") && /^https?:$/.test(parsed.protocol) &&
    parsed.username === "" && parsed.password === "" && origins.includes(parsed.origin);
  if (isAllowed) return withPlaceholders(parsed.href);
  throw invalidCheckout([{ path, message: "must be a URL of an origin in returnOrigins" }]);
}

/** Providers fill in what stands in braces, as {CHECKOUT_SESSION_ID}, which URLs encode in paths. */
function withPlaceholders(href: string): string {
  return href.replace(/%7B([A-Z][A-Z_]*)%7D/g, "{$1}");
}
