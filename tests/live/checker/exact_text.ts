/**
 * Reads JSON and keeps every number as it is written, so that two texts of one value are equal only
 * where their digits are.
 */
export function parseExactDecimal(text: string): unknown {
  return JSON.parse(text, keepSource);
}

/** One text for a value that was read so. The order of the members counts. */
export function exactText(value: unknown): string {
  return JSON.stringify(value);
}

function keepSource(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === "number" ? `#${context?.source}` : value;
}
