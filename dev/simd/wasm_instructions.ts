/**
 * The code of WebAssembly instructions as bytes and nested lists (WebAssembly 2.0, chapter 5). Each
 * instruction is a function from operands to code, so that its use reads like an expression.
 * {@link flatten} converts the code to bytes.
 */
export type WasmCode = readonly (number | WasmCode)[];

/** Returns all bytes of WebAssembly instructions as a flat list. */
export function flatten(code: WasmCode): number[] {
  const bytes: number[] = [];
  collect(code, bytes);
  return bytes;
}

function collect(code: WasmCode, bytes: number[]): void {
  for (const part of code) {
    if (typeof part === "number") bytes.push(part);
    else collect(part, bytes);
  }
}

/** Encodes an unsigned number in LEB128, as WebAssembly code contains it. */
export function encodeUnsigned(value: number): WasmCode {
  return value < 128 ? [value] : [value & 127 | 128, ...encodeUnsigned(value >>> 7)];
}

function signed(value: number): WasmCode {
  return value >= -64 && value < 64 ? [value & 127] : [value & 127 | 128, ...signed(value >> 7)];
}

/** Encodes a list in WebAssembly code: the number of its items, then the items. */
export function encodeVector(items: readonly WasmCode[]): WasmCode {
  return [encodeUnsigned(items.length), items];
}

/** Encodes a section or a function body of WebAssembly: its length in bytes, then its content. */
export function encodeWithLength(content: WasmCode): WasmCode {
  const bytes = flatten(content);
  return [encodeUnsigned(bytes.length), bytes];
}

export const localGet = (local: number): WasmCode => [0x20, encodeUnsigned(local)];
export const localSet = (
  local: number,
  value: WasmCode,
): WasmCode => [value, 0x21, encodeUnsigned(local)];

/** The WebAssembly instructions on 32-bit integers. */
export const i32 = {
  constant: (value: number): WasmCode => [0x41, signed(value)],
  add: (x: WasmCode, y: WasmCode): WasmCode => [x, y, 0x6a],
  and: (x: WasmCode, y: WasmCode): WasmCode => [x, y, 0x71],
  or: (x: WasmCode, y: WasmCode): WasmCode => [x, y, 0x72],
  shiftLeft: (x: WasmCode, bits: number): WasmCode => [x, i32.constant(bits), 0x74],
  isLess: (x: WasmCode, y: WasmCode): WasmCode => [x, y, 0x49],
  trailingZeros: (x: WasmCode): WasmCode => [x, 0x68],
};

/** The WebAssembly instructions on vectors of four 32-bit integers. */
export const v128 = {
  load: (address: number): WasmCode => [atZero, simd(0x00), 4, encodeUnsigned(address)],
  /** Loads one number from the memory into all four lanes. */
  loadSplat: (address: number): WasmCode => [atZero, simd(0x09), 2, encodeUnsigned(address)],
  store: (address: number, value: WasmCode): WasmCode => [
    atZero,
    value,
    simd(0x0b),
    4,
    encodeUnsigned(address),
  ],
  constant: (bytes: WasmCode): WasmCode => [simd(0x0c), bytes],
  splat: (x: WasmCode): WasmCode => [x, simd(0x11)],
  add: (x: WasmCode, y: WasmCode): WasmCode => [x, y, simd(0xae)],
  and: (x: WasmCode, y: WasmCode): WasmCode => [x, y, simd(0x4e)],
  or: (x: WasmCode, y: WasmCode): WasmCode => [x, y, simd(0x50)],
  xor: (x: WasmCode, y: WasmCode): WasmCode => [x, y, simd(0x51)],
  /** Selects the bits of `x` where the mask has ones, and the bits of `y` where it has zeros. */
  select: (x: WasmCode, y: WasmCode, mask: WasmCode): WasmCode => [x, y, mask, simd(0x52)],
  shiftLeft: (x: WasmCode, bits: number): WasmCode => [x, i32.constant(bits), simd(0xab)],
  shiftRight: (x: WasmCode, bits: number): WasmCode => [x, i32.constant(bits), simd(0xad)],
  areEqual: (x: WasmCode, y: WasmCode): WasmCode => [x, y, simd(0x37)],
  /** Computes one bit for each of the four lanes. A bit is set if all bits of the lane are ones. */
  bitmask: (x: WasmCode): WasmCode => [x, simd(0xa4)],
};

const atZero: WasmCode = [0x41, 0];

function simd(instruction: number): WasmCode {
  return [0xfd, encodeUnsigned(instruction)];
}

/** Returns the code of a loop that runs once and repeats while `condition` is not zero. */
export function repeat(body: WasmCode, condition: WasmCode): WasmCode {
  return [0x03, 0x40, body, condition, 0x0d, 0, 0x0b];
}

export function returnIf(condition: WasmCode, value: WasmCode): WasmCode {
  return [condition, 0x04, 0x40, value, 0x0f, 0x0b];
}
