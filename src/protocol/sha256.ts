/**
 * SHA-256 (FIPS 180-4) in plain TypeScript, also for browsers. For messages of a few blocks it is
 * faster than a call into a native library. It can continue from a midstate (the state after some
 * blocks), which HMAC and proof of work need.
 */
export interface Sha256 {
  /** Returns the 32 bytes of the digest, in a new array. */
  digest(message: Uint8Array): Uint8Array<ArrayBuffer>;
  /**
   * Returns the digest as eight words. The hashed bytes are those of `midstate`, and then the first
   * `length` bytes of the message. The hasher owns the array, and the next call overwrites it.
   */
  words(message: Uint8Array, length: number, midstate?: Midstate): Int32Array;
}

/** The intermediate state of a SHA-256 hash after a whole number of blocks. */
export interface Midstate {
  readonly state: Int32Array;
  /** The number of hashed bytes, a multiple of 64. */
  readonly bytes: number;
}

/** The size of a block of SHA-256, in bytes. */
export const blockBytes = 64;

/** Creates a hasher of SHA-256. It reuses its buffers, so that hashing allocates no memory. */
export function createSha256(): Sha256 {
  const state = new Int32Array(8);
  const schedule = new Int32Array(scheduleWords);
  const lastBlocks = new Uint8Array(2 * blockBytes);

  function words(message: Uint8Array, length: number, midstate: Midstate = beginning): Int32Array {
    state.set(midstate.state);
    let at = 0;
    for (; at + blockBytes <= length; at += blockBytes) compressBlock(message, at);
    // The padding: the last block contains the rest of the message, a one bit, and the length in
    // bits. If there is no room for the length, another block follows.
    const rest = length - at;
    const end = rest + 9 <= blockBytes ? blockBytes : 2 * blockBytes;
    for (let i = 0; i < rest; i++) lastBlocks[i] = message[at + i]!;
    lastBlocks[rest] = 0x80;
    lastBlocks.fill(0, rest + 1, end);
    const total = midstate.bytes + length;
    writeWord(lastBlocks, end - 8, Math.floor(total / 2 ** 29));
    writeWord(lastBlocks, end - 4, total << 3);
    for (at = 0; at < end; at += blockBytes) compressBlock(lastBlocks, at);
    return state;
  }

  function compressBlock(bytes: Uint8Array, at: number): void {
    readBlock(bytes, at, schedule);
    compress(state, schedule);
  }

  return {
    words,
    digest: (message) => wordsToBytes(words(message, message.length)),
  };
}

/** Returns the state of SHA-256 after whole blocks. Throws a RangeError for a partial block. */
export function midstateAfter(blocks: Uint8Array): Midstate {
  if (blocks.length % blockBytes !== 0) throw new RangeError("Not a number of whole blocks");
  const state = initialState.slice();
  const schedule = new Int32Array(scheduleWords);
  for (let at = 0; at < blocks.length; at += blockBytes) {
    readBlock(blocks, at, schedule);
    compress(state, schedule);
  }
  return { state, bytes: blocks.length };
}

/** The length of the message schedule of SHA-256, in words. */
export const scheduleWords = 64;

/**
 * Compresses one block into the state of a SHA-256 hash. The first 16 words of `schedule` must be
 * the block, big-endian. The other 48 are overwritten. The sigma functions are inlined, because
 * calls would cost a sixth of the speed.
 */
export function compress(state: Int32Array, schedule: Int32Array): void {
  for (let i = 16; i < 64; i++) {
    const x = schedule[i - 15]!;
    const y = schedule[i - 2]!;
    const sigma0 = (x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3;
    const sigma1 = (y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10;
    schedule[i] = schedule[i - 16]! + sigma0 + schedule[i - 7]! + sigma1;
  }
  let a = state[0]!, b = state[1]!, c = state[2]!, d = state[3]!;
  let e = state[4]!, f = state[5]!, g = state[6]!, h = state[7]!;
  for (let i = 0; i < 64; i++) {
    const sum1 = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);
    const sum0 = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10);
    const first = (h + sum1 + (g ^ e & (f ^ g)) + roundConstants[i]! + schedule[i]!) | 0;
    const second = (sum0 + (a & b ^ c & (a ^ b))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  state[0]! += a;
  state[1]! += b;
  state[2]! += c;
  state[3]! += d;
  state[4]! += e;
  state[5]! += f;
  state[6]! += g;
  state[7]! += h;
}
/** Reads a block byte by byte, because creating a DataView takes as long as reading the block. */
function readBlock(bytes: Uint8Array, at: number, schedule: Int32Array): void {
  for (let i = 0, next = at; i < 16; i++, next += 4) {
    schedule[i] = bytes[next]! << 24 | bytes[next + 1]! << 16 | bytes[next + 2]! << 8 |
      bytes[next + 3]!;
  }
}

function writeWord(bytes: Uint8Array, at: number, word: number): void {
  bytes[at] = word >>> 24;
  bytes[at + 1] = word >>> 16;
  bytes[at + 2] = word >>> 8;
  bytes[at + 3] = word;
}

/** Returns the words of a SHA-256 digest as bytes, big-endian. */
export function wordsToBytes(words: Int32Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(4 * words.length);
  for (let i = 0; i < words.length; i++) writeWord(bytes, 4 * i, words[i]!);
  return bytes;
}

const primes: readonly number[] = firstPrimes(64);

/** The round constants of SHA-256: fractional parts of the cube roots of the first 64 primes. */
export const roundConstants: Int32Array = Int32Array.from(primes, (prime) => fraction(prime, 3));

const initialState: Int32Array = Int32Array.from(primes.slice(0, 8), (prime) => fraction(prime, 2));

const beginning: Midstate = { state: initialState, bytes: 0 };

function firstPrimes(count: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) {
    if (found.every((prime) => n % prime !== 0)) found.push(n);
  }
  return found;
}

/** Returns the first 32 bits of a root's fraction, by integers: doubles are not precise enough. */
function fraction(prime: number, degree: number): number {
  const scaled = BigInt(prime) << BigInt(32 * degree);
  let low = 0n;
  let high = 1n << 37n;
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (middle ** BigInt(degree) <= scaled) low = middle;
    else high = middle;
  }
  return Number(BigInt.asIntN(32, low));
}
