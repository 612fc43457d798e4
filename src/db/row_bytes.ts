import { Buffer } from "node:buffer";
import type { SqlValue } from "../sql/fragment.ts";

/** A shorter text counts one byte for each of its UTF-16 units: to measure it would cost more. */
const measuredLength = 1_024;

/** The bytes that the cells of a row have: strings in UTF-8, and 8 for every other value. */
export function bytesOfRow(row: readonly SqlValue[]): number {
  let bytes = 0;
  for (const cell of row) bytes += bytesOfCell(cell);
  return bytes;
}

function bytesOfCell(cell: SqlValue): number {
  if (typeof cell !== "string") return cell instanceof Uint8Array ? cell.byteLength : 8;
  return cell.length < measuredLength ? cell.length : Buffer.byteLength(cell);
}
