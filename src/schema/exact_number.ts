/**
 * A number in a JSON document that no double can represent, such as `0.1234567890123456789` or
 * `1e400`. `JSON.rawJSON` creates such an object, and `JSON.stringify` writes the digits unchanged.
 */
export interface ExactNumber {
  /** The digits of the number as JSON text. */
  readonly rawJSON: string;
}

/** Returns true if a value is an {@link ExactNumber}, which `JSON.parse` never creates. */
export function isExactNumber(value: unknown): value is ExactNumber {
  return typeof value === "object" && rawJson.isRawJSON(value);
}

/** Creates an exact number from its digits, which must be a valid JSON number. */
export function exactNumber(digits: string): ExactNumber {
  return rawJson.rawJSON(digits);
}

// These functions are newer than the type library of the compiler.
const rawJson = JSON as unknown as {
  readonly rawJSON: (text: string) => ExactNumber;
  readonly isRawJSON: (value: unknown) => boolean;
};

/** Replaces the exact numbers in a parsed document by doubles, in place. */
export function replaceExactNumbers(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isExactNumber(value)) return Number(value.rawJSON);
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      value[index] = replaceExactNumbers(item);
    });
  } else {
    for (const [name, member] of Object.entries(value)) {
      const changed = replaceExactNumbers(member);
      if (changed !== member) Object.defineProperty(value, name, { value: changed });
    }
  }
  return value;
}
