import type { SqlValue } from "./fragment.ts";

/**
 * A value that does not fit its kind, as it is stored and in a form that JSON has: bytes as base64,
 * and the numbers that JSON lacks by name.
 */
export function asStored(value: SqlValue): unknown {
  if (value instanceof Uint8Array) return value.toBase64();
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

/** A value that needs no change to be bound. Throws on what no driver can bind. */
export function bindable(value: unknown): SqlValue {
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") {
    return value;
  }
  if (value instanceof Uint8Array) return value;
  throw new Error(`Cannot bind a value of type ${typeof value}`);
}
