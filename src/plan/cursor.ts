import { base64ToBytes, bytesToBase64 } from "../protocol/byte_text.ts";
import { Problem } from "../problem/problem.ts";
import type { Sealer } from "../runtime/sealer.ts";
import type { SqlValue } from "../sql/fragment.ts";
import { printOrder } from "./order.ts";
import type { OrderKey } from "./plan.ts";

/**
 * Makes a cursor, the sealed keyset position of a page's last row: the stored values of the order's
 * keys at full precision. It is bound to the resource and the order, and reveals nothing.
 */
export function sealCursor(
  values: readonly SqlValue[],
  resource: string,
  order: readonly OrderKey[],
  sealer: Sealer,
): string {
  return sealer.seal(JSON.stringify(values.map(toJson)), cursorContext(resource, order));
}

/**
 * Opens a client's cursor: gives the position that is sealed in it. Throws a 400 for a damaged or
 * outdated cursor and for one of another list: it never restarts at the first page.
 */
export function openCursor(
  cursor: string,
  resource: string,
  order: readonly OrderKey[],
  sealer: Sealer,
): readonly SqlValue[] {
  const text = sealer.open(cursor, cursorContext(resource, order));
  const values: unknown = text === null ? null : JSON.parse(text);
  if (!Array.isArray(values) || values.length !== order.length) {
    throw new Problem(
      "cursor-invalid",
      "Cannot continue from this cursor: it is damaged, or belongs to another list or order",
    );
  }
  return values.map(fromJson);
}

function cursorContext(resource: string, order: readonly OrderKey[]): string {
  const kinds = order.map(({ column }) => `${column.kind}${column.notNull ? "" : "?"}`).join();
  return `cursor 1 ${resource} ${printOrder(order)} ${kinds}`;
}

// JSON has no 64-bit integers, no bytes and no infinities: those are tagged.
function toJson(value: SqlValue): unknown {
  if (typeof value === "bigint") return { int: value.toString() };
  if (value instanceof Uint8Array) return { bytes: bytesToBase64(value) };
  if (typeof value === "number" && !Number.isFinite(value)) return { real: String(value) };
  return value;
}

function fromJson(value: unknown): SqlValue {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  if (typeof value === "object" && "int" in value) return BigInt(String(value.int));
  if (typeof value === "object" && "bytes" in value) {
    return base64ToBytes(String(value.bytes));
  }
  if (typeof value === "object" && "real" in value) return Number(value.real);
  throw new Error("A sealed cursor holds a value that this version did not write");
}
