import { InvalidValue, type Kind } from "../kind.ts";
import { compareText } from "./text_kind.ts";

export const uuidKind: Kind = {
  fromJson(value) {
    if (typeof value !== "string") throw new InvalidValue("must be a UUID");
    return canonicalUuid(value);
  },
  fromText(text, { exactCase }) {
    const canonical = canonicalUuid(text);
    return exactCase ? text : canonical;
  },
  compare: (left, right) => compareText(String(left), String(right)),
  ordered: true,
};

export function isCanonicalUuid(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

function canonicalUuid(text: string): string {
  const lower = text.toLowerCase();
  if (!isCanonicalUuid(lower)) throw new InvalidValue("must be a UUID");
  return lower;
}
