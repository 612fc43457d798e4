/**
 * A number within a JSON document that no double has, such as `0.1234567890123456789` and `1e400`,
 * with its text: what `JSON.rawJSON` makes, which `JSON.stringify` writes as it is.
 */
export interface ExactNumber {
  /** The number as JSON has it. */
  readonly rawJSON: string;
}

/** Returns true if a value is an {@link ExactNumber}: no member of a document can look like one. */
export function isExactNumber(value: unknown): value is ExactNumber {
  return typeof value === "object" && rawJson.isRawJSON(value);
}

/** Makes an exact number of its text, which must be a number as JSON writes it. */
export function exactNumber(digits: string): ExactNumber {
  return rawJson.rawJSON(digits);
}

// These are newer than the type library of the compiler.
const rawJson = JSON as unknown as {
  readonly rawJSON: (text: string) => ExactNumber;
  readonly isRawJSON: (value: unknown) => boolean;
};

/** The parsed JSON, changed in place, with doubles in the place of numbers that none of them is, for code that takes those. */
export function withDoubles(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isExactNumber(value)) return Number(value.rawJSON);
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      value[index] = withDoubles(item);
    });
  } else {
    for (const [name, member] of Object.entries(value)) {
      const changed = withDoubles(member);
      if (changed !== member) Object.defineProperty(value, name, { value: changed });
    }
  }
  return value;
}
