/** Parses JSON without losing digits of whole numbers: those beyond a double are bigints. */
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

/** The JSON of a value, for comparisons. */
export function print(value: unknown): string {
  return JSON.stringify(value, (_name, part) => typeof part === "bigint" ? String(part) : part);
}

/** The third argument of a reviver is not in the library's types yet. */
type ParseWithSource = (
  text: string,
  revive: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

// As the type above says.
const parseWithSource = JSON.parse as ParseWithSource;
