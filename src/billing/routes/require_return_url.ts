import { invalidCheckout } from "../invalid_checkout.ts";

/**
 * Returns the URL in its parsed form, because another parser may read the original differently.
 * Throws a 422 if the URL is not of `origins`: customers would follow it from the provider's page.
 */
export function requireReturnUrl(
  path: string,
  url: string | undefined,
  origins: readonly string[],
): string | undefined {
  if (url === undefined) return undefined;
  const parsed = URL.parse(url);
  // Browsers treat a backslash as a slash. Other parsers do not, and could find another host.
  const isAllowed = parsed !== null && !url.includes("\\") && /^https?:$/.test(parsed.protocol) &&
    parsed.username === "" && parsed.password === "" && origins.includes(parsed.origin);
  // Restores placeholders such as {CHECKOUT_SESSION_ID}, whose braces the URL parser has encoded.
  if (isAllowed) return parsed.href.replace(/%7B([A-Z][A-Z_]*)%7D/g, "{$1}");
  throw invalidCheckout([{ path, message: "must be a URL of an origin in returnOrigins" }]);
}
