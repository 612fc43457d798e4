/** Returns a query string with its `?`, or "". Undefined and null are omitted, lists joined. */
export function queryString(parameters: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(parameters).flatMap(([name, value]) =>
    // The cast is safe: `encodeURIComponent` converts every value to a string. URLSearchParams
    // would replace a lone surrogate, for which this function throws.
    value === undefined || value === null ? [] : [`${name}=${encodeURIComponent(value as string)}`]
  );
  return parts[0] ? `?${parts.join("&")}` : "";
}
