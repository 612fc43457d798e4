/**
 * The WebAssembly instructions that the search needs, as functions from operands to bytes
 * (WebAssembly 2.0, chapter 5), so that the code reads as an expression. The bytes of an operand
 * stay a nested list until {@link flatten}.
 */
export type WasmCode = readonly (number | WasmCode)[];

/** All the bytes of WebAssembly instructions as a flat list. */
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

/** An unsigned number in WebAssembly code, as LEB128. */
export function unsigned(value: number): WasmCode {
  return value < 128 ? [value] : [value & 127 | 128, ...unsigned(value >>> 7)];
}

function signed(value: number): WasmCode {
  return value >= -64 && value < 64 ? [value & 127] : [value & 127 | 128, ...signed(value >> 7)];
}

/** Encodes a list in WebAssembly code: the number of its items, then the items. */
export function vector(items: readonly WasmCode[]): WasmCode {
  return [unsigned(items.length), items];
}

/** Encodes a section or a function body of WebAssembly: its length in bytes, then its content. */
export function sized(content: WasmCode): WasmCode {
  const bytes = flatten(content);
  return [unsigned(bytes.length), bytes];
}

/** The WebAssembly instruction that gives the value of a local. */
export const localGet = (local: number): WasmCode => [0x20, unsigned(local)];
/** The WebAssembly instruction that sets a local. */
export const localSet = (
  local: number,
  value: WasmCode,
): WasmCode => [value, 0x21, unsigned(local)];

/** The WebAssembly instructions on whole numbers of 32 bits. */
export const i32 = {
  constant: (value: number): WasmCode => [0x41, signed(value)],
  add: (x: WasmCode, y: WasmCode): WasmCode => [x, y, 0x6a],
  and: (x: WasmCode, y: WasmCode): WasmCode => [x, y, 0x71],
  or: (x: WasmCode, y: WasmCode): WasmCode => [x, y, 0x72],
  shiftLeft: (x: WasmCode, bits: number): WasmCode => [x, i32.constant(bits), 0x74],
  isLess: (x: WasmCode, y: WasmCode): WasmCode => [x, y, 0x49],
  trailingZeros: (x: WasmCode): WasmCode => [x, 0x68],
};

/** The WebAssembly instructions on vectors of four whole numbers of 32 bits. */
export const v128 = {
  load: (address: number): WasmCode => [atZero, simd(0x00), 4, unsigned(address)],
  /** One number of the memory, in all four lanes. */
  loadSplat: (address: number): WasmCode => [atZero, simd(0x09), 2, unsigned(address)],
  store: (address: number, value: WasmCode): WasmCode => [
    atZero,
    value,
    simd(0x0b),
    4,
    unsigned(address),
  ],
  constant: (bytes: WasmCode): WasmCode => [simd(0x0c), bytes],
  splat: (x: WasmCode): WasmCode => [x, simd(0x11)],
  add: (x: WasmCode, y: WasmCode): WasmCode => [x, y, simd(0xae)],
  and: (x: WasmCode, y: WasmCode): WasmCode => [x, y, simd(0x4e)],
  or: (x: WasmCode, y: WasmCode): WasmCode => [x, y, simd(0x50)],
  xor: (x: WasmCode, y: WasmCode): WasmCode => [x, y, simd(0x51)],
  /** Bits of `x` where the mask has ones, of `y` elsewhere. */
  select: (x: WasmCode, y: WasmCode, mask: WasmCode): WasmCode => [x, y, mask, simd(0x52)],
  shiftLeft: (x: WasmCode, bits: number): WasmCode => [x, i32.constant(bits), simd(0xab)],
  shiftRight: (x: WasmCode, bits: number): WasmCode => [x, i32.constant(bits), simd(0xad)],
  areEqual: (x: WasmCode, y: WasmCode): WasmCode => [x, y, simd(0x37)],
  /** One bit for each of the four lanes, set where the lane is all ones. */
  bitmask: (x: WasmCode): WasmCode => [x, simd(0xa4)],
};

const atZero: WasmCode = [0x41, 0];

function simd(instruction: number): WasmCode {
  return [0xfd, unsigned(instruction)];
}

/**
 * The WebAssembly instructions of a loop, which repeats while `condition` is not zero, at least
 * once.
 */
export function repeat(body: WasmCode, condition: WasmCode): WasmCode {
  return [0x03, 0x40, body, condition, 0x0d, 0, 0x0b];
}

/**
 * The WebAssembly instructions that leave the function with a value if the condition is not zero.
 */
export function returnIf(condition: WasmCode, value: WasmCode): WasmCode {
  return [condition, 0x04, 0x40, value, 0x0f, 0x0b];
}
