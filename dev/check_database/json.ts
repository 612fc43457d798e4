/** Parses JSON without loss of digits: whole numbers beyond 2^53 become bigints. */
export function parse(text: string): unknown {
  return parseWithSource(
    text,
    (_name, value, { source }) =>
      typeof value === "number" && source !== undefined && /^-?\d+$/.test(source) &&
        !Number.isSafeInteger(value)
        ? BigInt(source)
        : value,
  );
}

/** Returns the JSON of a value for comparisons. */
export function print(value: unknown): string {
  return JSON.stringify(value, (_name, part) => typeof part === "bigint" ? String(part) : part);
}

/** The library's types do not contain the third argument of a reviver yet. */
type ParseWithSource = (
  text: string,
  revive: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

// The cast is safe: the type above describes this function.
const parseWithSource = JSON.parse as ParseWithSource;
