import { base64ToBytes, bytesToBase64 } from "../../protocol/base64.ts";
import { InvalidValue, type Kind } from "../kind.ts";

export const bytesKind: Kind = {
  fromJson(value) {
    // Bodies cannot contain bytes, but hooks and default functions can return them.
    if (value instanceof Uint8Array) return bytesToBase64(value);
    if (typeof value !== "string") throw new InvalidValue("must be a base64 string");
    return canonicalBase64(value);
  },
  fromText: canonicalBase64,
  compare: null,
  ordered: false,
};

export function decodeBase64(text: string): Uint8Array | null {
  try {
    return base64ToBytes(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function canonicalBase64(text: string): string {
  if (decodeBase64(text) === null) throw new InvalidValue("must be a base64 string");
  return text;
}
