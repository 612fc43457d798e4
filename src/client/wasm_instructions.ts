/**
 * The few instructions of WebAssembly that the search is made of, as functions from operands to
 * bytes (WebAssembly 2.0, chapter 5), so that an expression is written as it is read. The bytes of an
 * operand stay in a list of their own until the end.
 */
export type Code = readonly (number | Code)[];

/** All the bytes in a row. */
export function flatten(code: Code): number[] {
  const bytes: number[] = [];
  collect(code, bytes);
  return bytes;
}

function collect(code: Code, bytes: number[]): void {
  for (const part of code) {
    if (typeof part === "number") bytes.push(part);
    else collect(part, bytes);
  }
}

/** A number without a sign, as LEB128. */
export function unsigned(value: number): Code {
  return value < 128 ? [value] : [value & 127 | 128, ...unsigned(value >>> 7)];
}

function signed(value: number): Code {
  return value >= -64 && value < 64 ? [value & 127] : [value & 127 | 128, ...signed(value >> 7)];
}

/** What a list of things is written as: their number, then they. */
export function vector(items: readonly Code[]): Code {
  return [unsigned(items.length), items];
}

/** A section of a module, or a body: its length in bytes, then it. */
export function sized(content: Code): Code {
  const bytes = flatten(content);
  return [unsigned(bytes.length), bytes];
}

/** The value of a local. */
export const localGet = (local: number): Code => [0x20, unsigned(local)];
/** Sets a local. */
export const localSet = (local: number, value: Code): Code => [value, 0x21, unsigned(local)];

/** Instructions on whole numbers of 32 bits. */
export const i32 = {
  constant: (value: number): Code => [0x41, signed(value)],
  add: (x: Code, y: Code): Code => [x, y, 0x6a],
  and: (x: Code, y: Code): Code => [x, y, 0x71],
  or: (x: Code, y: Code): Code => [x, y, 0x72],
  shiftLeft: (x: Code, bits: number): Code => [x, i32.constant(bits), 0x74],
  isLess: (x: Code, y: Code): Code => [x, y, 0x49],
  trailingZeros: (x: Code): Code => [x, 0x68],
};

/** Instructions on vectors of four such numbers. */
export const v128 = {
  load: (address: number): Code => [atZero, simd(0x00), 4, unsigned(address)],
  /** One number in memory, in all four places. */
  loadSplat: (address: number): Code => [atZero, simd(0x09), 2, unsigned(address)],
  store: (address: number, value: Code): Code => [
    atZero,
    value,
    simd(0x0b),
    4,
    unsigned(address),
  ],
  constant: (bytes: Code): Code => [simd(0x0c), bytes],
  splat: (x: Code): Code => [x, simd(0x11)],
  add: (x: Code, y: Code): Code => [x, y, simd(0xae)],
  and: (x: Code, y: Code): Code => [x, y, simd(0x4e)],
  or: (x: Code, y: Code): Code => [x, y, simd(0x50)],
  xor: (x: Code, y: Code): Code => [x, y, simd(0x51)],
  /** Bits of `x` where the mask has ones, of `y` elsewhere. */
  select: (x: Code, y: Code, mask: Code): Code => [x, y, mask, simd(0x52)],
  shiftLeft: (x: Code, bits: number): Code => [x, i32.constant(bits), simd(0xab)],
  shiftRight: (x: Code, bits: number): Code => [x, i32.constant(bits), simd(0xad)],
  areEqual: (x: Code, y: Code): Code => [x, y, simd(0x37)],
  /** One bit for each of the four that is all ones. */
  bitmask: (x: Code): Code => [x, simd(0xa4)],
};

const atZero: Code = [0x41, 0];

function simd(instruction: number): Code {
  return [0xfd, unsigned(instruction)];
}

/** Repeats while `condition` is not zero, once at least. */
export function repeat(body: Code, condition: Code): Code {
  return [0x03, 0x40, body, condition, 0x0d, 0, 0x0b];
}

/** Leaves the function with a value if the condition is not zero. */
export function returnIf(condition: Code, value: Code): Code {
  return [condition, 0x04, 0x40, value, 0x0f, 0x0b];
}
