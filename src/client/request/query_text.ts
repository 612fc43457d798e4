/** The value of a query parameter; a list is joined by commas, undefined and null leave it out. */
export type QueryValue =
  | string
  | number
  | boolean
  | { toString(): string }
  | readonly string[]
  | null
  | undefined;

/** The query of a URL with its `?`, or the empty text where every value is left out. */
export function queryText(parameters: Readonly<Record<string, QueryValue>>): string {
  const parts = Object.entries(parameters).flatMap(([name, value]) =>
    // `encodeURIComponent` throws for half a surrogate pair, which URLSearchParams would replace.
    value === undefined || value === null ? [] : [`${name}=${encodeURIComponent(String(value))}`]
  );
  return parts.length > 0 ? `?${parts.join("&")}` : "";
}
