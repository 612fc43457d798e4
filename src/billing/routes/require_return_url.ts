import { invalidCheckout } from "../invalid_checkout.ts";

/**
 * Requires that a URL to return to has one of these origins: else a page of the provider that the
 * customer trusts would lead to any other. Throws a 422.
 */
export function requireReturnUrl(
  path: string,
  url: string | undefined,
  origins: readonly string[],
): string | undefined {
  if (url === undefined) return undefined;
  const parsed = URL.parse(url);
  const isAllowed = parsed !== null && /^https?:$/.test(parsed.protocol) &&
    parsed.username === "" && parsed.password === "" && origins.includes(parsed.origin);
  // Providers fill in what stands in braces, as {CHECKOUT_SESSION_ID}, which URLs would encode.
  if (isAllowed) return url;
  throw invalidCheckout([{ path, message: "must be a URL of an origin in returnOrigins" }]);
}
