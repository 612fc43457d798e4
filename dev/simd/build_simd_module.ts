import { initialVaryingWord } from "../../src/client/pow/nonce_range.ts";
import { simdMemoryOffsets } from "../../src/client/pow/simd_scan.ts";
import { roundConstants } from "../../src/protocol/sha256.ts";
import {
  encodeVector,
  encodeWithLength,
  flatten,
  i32,
  localGet,
  localSet,
  repeat,
  returnIf,
  v128,
  type WasmCode,
} from "./wasm_instructions.ts";

/**
 * Returns a WebAssembly module that hashes four nonces at a time, for blocks whose varying word is
 * `at`. This code builds the module from instructions, so that a reader can verify it, unlike a
 * binary. Its function `scan(from, to)` returns an index or -1. The 64 rounds of SHA-256 are
 * unrolled, and each variable of the hash state keeps its WebAssembly local. The rounds before
 * `at`, and all schedule words that do not depend on `at`, are computed once for each call.
 */
export function buildSimdModule(at: number): Uint8Array<ArrayBuffer> {
  const varies = varyingWords(at);
  return moduleOf([
    prologue(at, varies),
    repeat(
      [
        eachLetter((letter) => localSet(letters + letter, localGet(startLetters + letter))),
        localSet(ring + at, fourWords()),
        mainRounds(at, varies),
        localSet(hits, solved()),
        returnIf(localGet(hits), i32.add(localGet(index), i32.trailingZeros(localGet(hits)))),
        localSet(index, i32.add(localGet(index), i32.constant(4))),
      ],
      i32.isLess(localGet(index), localGet(end)),
    ),
    i32.constant(-1),
  ]);
}

// The indexes of the WebAssembly locals. Locals 0 to 2 have 32 bits, all others are vectors.
const index = 0;
const end = 1;
const hits = 2;
const startLetters = 3;
const letters = 11;
/** The first of the 16 locals that hold the latest varying words of the schedule. */
const ring = 19;
const vectors = 32;

/** The memory address of the round constants, which the data section contains. */
const constants = 256;
/** The memory address of the constant part of each schedule word, as vectors. */
const fixedWords = 1024;
/** The memory address of the same constant parts plus the round constants, as vectors. */
const fixedTerms = 2048;

/** Returns for each word of the message schedule if it depends on the varying word. */
function varyingWords(at: number): readonly boolean[] {
  const varies = Array.from({ length: 64 }, (_, t) => t === at);
  for (let t = 16; t < 64; t++) varies[t] = sources(t).some(([source]) => varies[source]);
  return varies;
}

/** Returns the terms whose sum is a schedule word: earlier words, some through a sigma function. */
function sources(
  t: number,
): readonly (readonly [source: number, form: (x: WasmCode) => WasmCode])[] {
  const itself = (x: WasmCode) => x;
  return [[t - 16, itself], [t - 15, smallSigma0], [t - 7, itself], [t - 2, smallSigma1]];
}

/** Returns the code that computes the values that all nonces of a call share. */
function prologue(at: number, varies: readonly boolean[]): WasmCode {
  const code = [
    eachLetter((letter) =>
      localSet(startLetters + letter, v128.loadSplat(simdMemoryOffsets.state + 4 * letter))
    ),
  ];
  for (let t = 0; t < 64; t++) {
    const terms = t < 16
      ? t === at ? [] : [v128.loadSplat(simdMemoryOffsets.block + 4 * t)]
      : sources(t).filter(([source]) => !varies[source])
        .map(([source, form]) => form(v128.load(fixedWords + 16 * source)));
    if (terms.length === 0) continue;
    code.push(v128.store(fixedWords + 16 * t, sum(terms)));
    const withConstant = v128.add(v128.load(fixedWords + 16 * t), roundConstant(t));
    if (!varies[t]) code.push(v128.store(fixedTerms + 16 * t, withConstant));
  }
  for (let t = 0; t < at; t++) code.push(round(t, startLetters, v128.load(fixedTerms + 16 * t)));
  return code;
}

/** Returns the code of all rounds from the first varying word on. */
function mainRounds(at: number, varies: readonly boolean[]): WasmCode {
  const code: WasmCode[] = [];
  for (let t = at; t < 64; t++) {
    const word = ring + t % 16;
    if (varies[t] && t !== at) {
      const terms = sources(t).filter(([source]) => varies[source])
        .map(([source, form]) => form(localGet(ring + source % 16)));
      if (terms.length < 4) terms.push(v128.load(fixedWords + 16 * t));
      code.push(localSet(word, sum(terms)));
    }
    const term = varies[t]
      ? v128.add(localGet(word), roundConstant(t))
      : v128.load(fixedTerms + 16 * t);
    code.push(round(t, letters, term));
  }
  return code;
}

/** Returns the code of one round. It renames the locals instead of copying their values. */
function round(t: number, base: number, term: WasmCode): WasmCode {
  const local = (letter: number) => base + (letter - t + 64) % 8;
  const [a, b, c] = [localGet(local(0)), localGet(local(1)), localGet(local(2))];
  const [e, f, g] = [localGet(local(4)), localGet(local(5)), localGet(local(6))];
  const d = local(3);
  const h = local(7);
  const choice = v128.select(f, g, e);
  const majority = v128.select(c, a, v128.xor(a, b));
  return [
    localSet(h, sum([localGet(h), rotations(e, [6, 11, 25]), choice, term])),
    localSet(d, v128.add(localGet(d), localGet(h))),
    localSet(h, sum([localGet(h), rotations(a, [2, 13, 22]), majority])),
  ];
}

/** Returns the code for the varying words of four successive nonces, as one vector. */
function fourWords(): WasmCode {
  const nibble = (mask: number, shift: number) =>
    i32.shiftLeft(i32.and(localGet(index), i32.constant(mask)), shift);
  const word = [nibble(0xf000, 12), nibble(0xf00, 8), nibble(0xf0, 4), nibble(0xf, 0)]
    .reduce(i32.or);
  const neighbours = [0, 1, 2, 3].flatMap((last) => [last, 0, 0, 0]);
  return v128.add(
    v128.splat(i32.add(word, i32.constant(initialVaryingWord))),
    v128.constant(neighbours),
  );
}

/** Returns the code for a bit mask of the four nonces. A bit is set if its nonce is a solution. */
function solved(): WasmCode {
  const digest = v128.add(localGet(letters), v128.loadSplat(simdMemoryOffsets.state));
  const bits = v128.and(digest, v128.loadSplat(simdMemoryOffsets.mask));
  return v128.bitmask(v128.areEqual(bits, v128.splat(i32.constant(0))));
}

function smallSigma0(x: WasmCode): WasmCode {
  return v128.xor(rotations(x, [7, 18]), v128.shiftRight(x, 3));
}

function smallSigma1(x: WasmCode): WasmCode {
  return v128.xor(rotations(x, [17, 19]), v128.shiftRight(x, 10));
}

/** Returns the code for the XOR of one value, rotated right by several numbers of bits. */
function rotations(x: WasmCode, bits: readonly number[]): WasmCode {
  return bits.map((n) => v128.or(v128.shiftRight(x, n), v128.shiftLeft(x, 32 - n)))
    .reduce(v128.xor);
}

function roundConstant(t: number): WasmCode {
  return v128.loadSplat(constants + 4 * t);
}

function sum(terms: readonly WasmCode[]): WasmCode {
  return terms.reduce(v128.add);
}

function eachLetter(write: (letter: number) => WasmCode): WasmCode {
  return [0, 1, 2, 3, 4, 5, 6, 7].map(write);
}

/** Returns a module that exports one page of `memory` and the function `scan`. */
function moduleOf(body: WasmCode): Uint8Array<ArrayBuffer> {
  const i32Type = 0x7f;
  const v128Type = 0x7b;
  const locals = encodeVector([[1, i32Type], [vectors, v128Type]]);
  const name = (text: string) => encodeVector([...text].map((letter) => [letter.charCodeAt(0)]));
  return Uint8Array.from(flatten([
    [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    section(1, [0x60, encodeVector([[i32Type], [i32Type]]), encodeVector([[i32Type]])]),
    section(3, [0]),
    section(5, [0, 1]),
    [7, encodeWithLength(encodeVector([[name("memory"), 2, 0], [name("scan"), 0, 0]]))],
    section(10, encodeWithLength([locals, body, 0x0b])),
    section(11, [0, i32.constant(constants), 0x0b, encodeVector(constantBytes())]),
  ]));
}

/** Returns the round constants as bytes in little-endian order, as WebAssembly reads them. */
function constantBytes(): WasmCode[] {
  return Array.from(roundConstants, (word) => [0, 8, 16, 24].map((bits) => word >>> bits & 255))
    .flat().map((byte) => [byte]);
}

function section(id: number, entry: WasmCode): WasmCode {
  return [id, encodeWithLength(encodeVector([entry]))];
}
