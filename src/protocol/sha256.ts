/** Unlike the platform's functions, this SHA-256 (FIPS 180-4) can resume an intermediate state. */

export const blockBytes = 64;

export function sha256(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / blockBytes) * blockBytes);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, message.length * 8);
  stateAfter(padded).forEach((word, index) => view.setInt32(4 * index, word));
  return padded.slice(0, 32);
}

/** Returns the state of a hash after whole blocks. Throws a RangeError for a partial block. */
export function stateAfter(blocks: Uint8Array): Int32Array {
  if (blocks.length % blockBytes !== 0) throw new RangeError("Not a number of whole blocks");
  const state = initialState.slice();
  const schedule = new Int32Array(scheduleWords);
  const view = new DataView(blocks.buffer, blocks.byteOffset, blocks.length);
  for (let at = 0; at < blocks.length; at += blockBytes) {
    for (let i = 0; i < 16; i++) schedule[i] = view.getInt32(at + 4 * i);
    compress(state, schedule);
  }
  return state;
}

export const scheduleWords = 64;

/** Hashes the block in the first 16 words of `schedule` into `state`. Makes no calls, for speed. */
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

const primes: readonly number[] = firstPrimes(64);

/** The round constants of SHA-256: fractional parts of the cube roots of the first 64 primes. */
export const roundConstants: Int32Array = Int32Array.from(primes, (prime) => fraction(prime, 3));

const initialState: Int32Array = Int32Array.from(primes.slice(0, 8), (prime) => fraction(prime, 2));

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
