/** Returns a query string with its `?`, or "". Omits empty parameters. Joins lists by commas. */
export function queryString(parameters: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(parameters).flatMap(([name, value]) => {
    // The cast is safe: `encodeURIComponent` converts every value to a string. URLSearchParams
    // would replace a lone surrogate, for which this function throws.
    const text = encodeURIComponent((value ?? "") as string);
    return text ? `${name}=${text}` : [];
  });
  return parts[0] ? `?${parts.join("&")}` : "";
}
