import { blockBytes, createSha256, type Midstate, midstateAfter, type Sha256 } from "./sha256.ts";

/** HMAC-SHA-256 (RFC 2104) with one key. */
export interface HmacSha256 {
  /** Returns the 32 bytes of the authentication code, in a new array. */
  sign(message: Uint8Array): Uint8Array<ArrayBuffer>;
  /** Returns true if `code` is the message's authentication code. Compares in constant time. */
  verify(message: Uint8Array, code: Uint8Array): boolean;
}

/**
 * Creates the HMAC-SHA-256 of a key. The two blocks that depend only on the key are hashed once, in
 * advance. The hash of a short message then needs two compressions instead of four.
 */
export function createHmacSha256(key: Uint8Array): HmacSha256 {
  const hasher = createSha256();
  const inner = keyed(key, 0x36, hasher);
  const outer = keyed(key, 0x5c, hasher);
  const own = new Uint8Array(codeBytes);
  const view = new DataView(own.buffer);

  function compute(message: Uint8Array): void {
    write(hasher.words(message, message.length, inner));
    write(hasher.words(own, codeBytes, outer));
  }

  function write(words: Int32Array): void {
    for (let i = 0; i < 8; i++) view.setInt32(4 * i, words[i]!);
  }

  return {
    sign(message) {
      compute(message);
      return own.slice();
    },
    verify(message, code) {
      compute(message);
      let difference = code.length ^ codeBytes;
      for (let i = 0; i < codeBytes; i++) difference |= own[i]! ^ (code[i] ?? 0);
      return difference === 0;
    },
  };
}

const codeBytes = 32;

function keyed(key: Uint8Array, pad: number, hasher: Sha256): Midstate {
  const block = new Uint8Array(blockBytes);
  block.set(key.length > blockBytes ? hasher.digest(key) : key);
  return midstateAfter(block.map((byte) => byte ^ pad));
}
