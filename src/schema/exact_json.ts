/**
 * Parses JSON and keeps integers beyond 2^53 digit by digit, as bigints.
 * Text that is no JSON gives `undefined`, which JSON itself cannot say.
 */
export function parseJson(text: string): unknown {
  try {
    // A reviver slows parsing down several times; only long digit runs can need it.
    return /\d{16}/.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Writes JSON with bigints as plain digits. */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // There is a bigint inside, which is rare: a replacer makes all writing several times slower.
    return JSON.stringify(
      value,
      (_key, member) => typeof member === "bigint" ? digits(member) : member,
    );
  }
}

function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  return typeof value === "number" && !Number.isSafeInteger(value) && source !== undefined &&
      /^-?\d+$/.test(source)
    ? BigInt(source)
    : value;
}

function digits(value: bigint): unknown {
  // JSON.rawJSON is newer than the type library that we compile with.
  const json = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
  return json.rawJSON(String(value));
}
