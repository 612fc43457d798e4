import { bytesToHex } from "../protocol/byte_text.ts";
import type { Clock, Random } from "./runtime.ts";

/** Returns a UUID of version 7 (RFC 9562, 5.7). It sorts by millisecond and is unpredictable. */
export function uuidV7(clock: Clock, random: Random): string {
  const bytes = random.bytes(16);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const now = clock.now();
  view.setUint16(0, Math.floor(now / 2 ** 32));
  view.setUint32(2, now % 2 ** 32);
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  const hex = bytesToHex(bytes);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
