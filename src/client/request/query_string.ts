/**
 * Returns the query string of a URL with its `?`, or the empty string if there are no parameters.
 * Undefined and null parameters are omitted. Lists are joined by commas.
 */
export function queryString(parameters: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(parameters).flatMap(([name, value]) =>
    // The cast is safe: `encodeURIComponent` converts every value to a string. It throws for a lone
    // surrogate, which URLSearchParams would replace.
    value === undefined || value === null ? [] : [`${name}=${encodeURIComponent(value as string)}`]
  );
  return parts[0] ? `?${parts.join("&")}` : "";
}
