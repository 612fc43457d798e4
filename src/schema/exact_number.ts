export interface ExactNumber {
  readonly rawJSON: string;
}

export function isExactNumber(value: unknown): value is ExactNumber {
  return typeof value === "object" && rawJson.isRawJSON(value);
}

export function exactNumber(digits: string): ExactNumber {
  return rawJson.rawJSON(digits);
}

// The compiler's type library does not know these functions yet.
const rawJson = JSON as unknown as {
  readonly rawJSON: (text: string) => ExactNumber;
  readonly isRawJSON: (value: unknown) => boolean;
};

/** Replaces the exact numbers in a parsed document with doubles. Modifies the document. */
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
