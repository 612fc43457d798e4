import { base64urlLetters, maxNonceLength } from "../../protocol/pow_protocol.ts";
import { blockBytes, stateAfter } from "../../protocol/sha256.ts";

/** 65,536 nonces that differ in one 32-bit word. SHA-256 blocks before it are hashed only once. */
export interface NonceRange {
  readonly prefix: string;
  readonly midstate: Int32Array;
  readonly block: Int32Array;
  readonly at: number;
}

export type Scan = (range: NonceRange, part: ScanTask) => number;

export interface ScanTask {
  readonly difficulty: number;
  readonly from: number;
  /** The index after the last nonce to scan. Like `from`, it is a multiple of four. */
  readonly to: number;
}

export const nonceRangeSize = 65_536;

/** Returns a range of nonces for a token. The ranges of two counters have no common nonce. */
export function nonceRange(token: string, counter: number): NonceRange {
  const start = token.length + 1;
  // With three characters, the counter allows 2^34 nonces. Only longer searches need eight.
  const from = start + (counter < 64 ** 3 ? 3 : 8);
  const preferred = from + (preferredOffset - from % blockBytes + blockBytes) % blockBytes;
  const isTooLong = preferred + wordBytes - start > maxNonceLength;
  const offset = isTooLong ? wordOffset(from) : preferred;
  const prefix = spell(counter, offset - start);
  const bytes = new Uint8Array((Math.floor(offset / blockBytes) + 1) * blockBytes);
  new TextEncoder().encodeInto(`${token}:${prefix}`, bytes);
  bytes[offset + wordBytes] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - wordBytes, (offset + wordBytes) * 8);
  const blockStart = bytes.length - blockBytes;
  return {
    prefix,
    midstate: stateAfter(bytes.subarray(0, blockStart)),
    block: Int32Array.from({ length: 16 }, (_, i) => view.getInt32(blockStart + wordBytes * i)),
    at: (offset - blockStart) / wordBytes,
  };
}

export function nonceAt(range: NonceRange, index: number): string {
  const word = varyingWordAt(index);
  return range.prefix +
    String.fromCharCode(word >>> 24, word >>> 16 & 255, word >>> 8 & 255, word & 255);
}

/** Encodes an index as four letters in one 32-bit word. Each letter, `a` to `p`, encodes 4 bits. */
export function varyingWordAt(index: number): number {
  return initialVaryingWord +
    ((index & 0xf000) << 12 | (index & 0xf00) << 8 | (index & 0xf0) << 4 | index & 0xf);
}

export const initialVaryingWord = 0x61616161;

export function zeroBitsMask(difficulty: number): number {
  return difficulty === 0 ? 0 : -1 << (32 - difficulty);
}

const wordBytes = 4;

/** The index of the word that differs between nonces, in most ranges. SIMD scans only these. */
export const preferredWord = 12;

const preferredOffset = preferredWord * wordBytes;

/** Returns the offset of the first word with room for nine bytes of SHA-256 padding after it. */
function wordOffset(from: number): number {
  const offset = Math.ceil(from / wordBytes) * wordBytes;
  const room = blockBytes - offset % blockBytes;
  return room >= wordBytes + 9 ? offset : offset + room;
}

function spell(counter: number, width: number): string {
  let text = "";
  let left = counter;
  while (text.length < width) {
    text = (base64urlLetters[left % 64] ?? "") + text;
    left = Math.floor(left / 64);
  }
  return text;
}
