/**
 * The query of a URL with its `?`, or the empty string where every value is left out: undefined and
 * null are. A list is joined by commas.
 */
export function queryText(parameters: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(parameters).flatMap(([name, value]) =>
    // It makes a string of every value. `encodeURIComponent` throws for half a surrogate pair, which URLSearchParams would replace.
    value === undefined || value === null ? [] : [`${name}=${encodeURIComponent(value as string)}`]
  );
  return parts[0] ? `?${parts.join("&")}` : "";
}
