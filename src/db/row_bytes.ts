import { Buffer } from "node:buffer";
import type { SqlValue } from "../sql/fragment.ts";

/** Strings of at least this length are measured in UTF-8 bytes, instead of UTF-16 code units. */
const measuredLength = 1_024;

/** Returns the approximate bytes of a row: strings by their length, and 8 for every other value. */
export function bytesOfRow(row: readonly SqlValue[]): number {
  let bytes = 0;
  for (const cell of row) bytes += bytesOfCell(cell);
  return bytes;
}

function bytesOfCell(cell: SqlValue): number {
  if (typeof cell !== "string") return cell instanceof Uint8Array ? cell.byteLength : 8;
  return cell.length < measuredLength ? cell.length : Buffer.byteLength(cell);
}
