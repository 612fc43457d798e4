import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import { base64ToBytes, bytesToBase64 } from "../protocol/byte_text.ts";
import { Problem } from "../problem/problem.ts";
import type { Sealer } from "../runtime/sealer.ts";
import type { SqlValue } from "../sql/fragment.ts";
import { printOrder } from "./order.ts";
import type { OffsetPosition, OrderKey } from "./plan.ts";

export type CursorPosition =
  | { readonly kind: "values"; readonly values: readonly SqlValue[] }
  | ({ readonly kind: "reached" } & OffsetPosition)
  | ({ readonly kind: "counted" } & CountedPosition)
  | RowPosition;

/** A position as a number of rows, for orders whose values can differ between two statements. */
export interface CountedPosition {
  readonly rows: number;
  /** The number of rows before the position that the next page reads again and compares. */
  readonly compared: number;
  readonly hash: string;
}

/** The key of a page's last row, for a cursor whose sort key values would be too large. */
export interface RowPosition {
  readonly kind: "row";
  readonly key: readonly SqlValue[];
  /** The hash of the row's sort key values, which shows if these values have changed. */
  readonly hash: string;
}

export interface CursorScope {
  readonly resource: string;
  readonly order: readonly OrderKey[];
  readonly sealer: Sealer;
}

/** The maximum size of a position, in bytes. Most proxies reject URLs of more than 8 kB. */
const maxPositionBytes = 3_000;

/** The maximum size of a cursor, in bytes: without a proxy, URLs of this size are accepted. */
const maxCursorBytes = 12_000;

/**
 * Returns an encrypted cursor for this resource and order. The cursor contains the sort key values
 * of the last row, or its primary key if these values are long. Throws a 422 if that key is too
 * long, and a 400 if the cursor would equal `after`: a client would read the same page again.
 */
export function sealCursor(
  position: readonly SqlValue[],
  list: CursorScope,
  after: CursorPosition | null,
): string {
  const text = positionText(position);
  // `node:sqlite` ends a string at its first NUL, so a later row can seem to have the same values.
  if (after?.kind === "values" && positionText(after.values) === text) {
    throw new Problem(
      "cursor-invalid",
      "Cannot continue this list by a cursor: values of the page's last row contain a NUL character " +
        "or half of a surrogate pair, which the library changes. Request another page size",
    );
  }
  if (Buffer.byteLength(text) <= maxPositionBytes) return sealText(text, list);
  const key = position.filter((_value, index) => list.order[index]?.column.primaryKey);
  const sealed = JSON.stringify({ kind: "row", key: key.map(toJson), hash: positionHash(text) });
  if (Buffer.byteLength(sealed) <= maxCursorBytes) return sealText(sealed, list);
  throw new Problem(
    "query-too-expensive",
    "Cannot continue this list by a cursor: the id of the page's last row is too long. Request " +
      "another page size",
  );
}

/** Returns a cursor for an order in which several rows can have equal values. */
export function sealOffsetCursor({ values, skip }: OffsetPosition, list: CursorScope): string {
  return sealText(JSON.stringify({ kind: "reached", values: values.map(toJson), skip }), list);
}

/** Returns a cursor for an order whose sort key values can differ between statements. */
export function sealCountedCursor(
  { rows, compared, hash }: CountedPosition,
  list: CursorScope,
): string {
  return sealText(JSON.stringify({ kind: "counted", rows, compared, hash }), list);
}

function sealText(text: string, list: CursorScope): string {
  return list.sealer.seal(text, cursorContext(list));
}

export function countFittingValues(values: readonly SqlValue[]): number {
  let bytes = 0;
  const tooMany = values.findIndex((value) => {
    // A value that is certainly too long is not converted to JSON.
    const isLong = (typeof value === "string" || value instanceof Uint8Array) &&
      value.length > maxPositionBytes;
    bytes += isLong ? value.length : Buffer.byteLength(JSON.stringify(toJson(value))) + 1;
    return bytes > maxPositionBytes;
  });
  return tooMany === -1 ? values.length : tooMany;
}

/** Throws a 400 for a damaged or outdated cursor, because a list must not silently start over. */
export function openCursor(cursor: string, list: CursorScope): CursorPosition {
  const text = list.sealer.open(cursor, cursorContext(list));
  if (text === null) {
    throw new Problem(
      "cursor-invalid",
      "Cannot continue from this cursor: it is damaged, or belongs to another list or order",
    );
  }
  // The cast is safe: only the functions above seal strings with this context.
  const sealed = JSON.parse(text, (_name, value) => fromJson(value)) as
    | readonly SqlValue[]
    | Exclude<CursorPosition, { readonly kind: "values" }>;
  return "kind" in sealed ? sealed : { kind: "values", values: sealed };
}

/** Throws a 400 if the row of the cursor is gone, or if its sort key values have changed. */
export function requireUnchangedPosition(
  stored: readonly SqlValue[] | undefined,
  { hash }: RowPosition,
): readonly SqlValue[] {
  if (stored !== undefined && positionHash(positionText(stored)) === hash) return stored;
  throw new Problem(
    "cursor-invalid",
    "Cannot continue from this cursor: the row after which it continues was changed or is gone",
  );
}

export function positionText(position: readonly SqlValue[]): string {
  return JSON.stringify(position.map(toJson));
}

export function positionHash(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

function cursorContext({ resource, order }: CursorScope): string {
  const kinds = order.map(({ column }) => `${column.kind}${column.notNull ? "" : "?"}`).join();
  return `cursor 2 ${resource} ${printOrder(order)} ${kinds}`;
}

// 64-bit integers, bytes and infinities get a tag, because JSON cannot represent them.
function toJson(value: SqlValue): unknown {
  if (typeof value === "bigint") return { int: value.toString() };
  if (value instanceof Uint8Array) return { bytes: bytesToBase64(value) };
  if (typeof value === "number" && !Number.isFinite(value)) return { real: String(value) };
  return value;
}

function fromJson(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if ("int" in value) return BigInt(String(value.int));
  if ("bytes" in value) return base64ToBytes(String(value.bytes));
  return "real" in value ? Number(value.real) : value;
}
