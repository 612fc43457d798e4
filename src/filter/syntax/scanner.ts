import { excerptOf, plusHint, unreadableFilter } from "./filter_error.ts";
import type { Literal } from "./filter_syntax.ts";

export interface Scanner {
  readonly text: string;
  at: number;
}

export function peekCode(scanner: Scanner): number {
  return scanner.text.charCodeAt(scanner.at);
}

export function skipSpace(scanner: Scanner): void {
  while (isSpace(peekCode(scanner))) scanner.at++;
}

export function isSpace(code: number): boolean {
  return code === 0x20 || (code <= 0x0d && (code === 0x09 || code === 0x0a || code === 0x0d));
}

export function scanField(scanner: Scanner) {
  const { text, at } = scanner;
  if (peekCode(scanner) !== doubleQuote) {
    scanBareField(scanner, fieldStart);
    const opened = peekCode(scanner) === doubleQuote && text.charCodeAt(scanner.at - 1) === dot;
    if (!opened) return { field: text.slice(at, scanner.at), path: null };
  }
  const path = text.slice(at, scanner.at).split(".").slice(0, -1);
  do {
    if (peekCode(scanner) === doubleQuote) {
      path.push(scanQuoted(scanner, doubleQuote).text);
      continue;
    }
    const from = scanner.at;
    scanBareField(scanner, fieldPart);
    const names = text.slice(from, scanner.at).split(".");
    // In `a.b."c"`, the scanner has read `a.b.`: an empty last name precedes the quoted one.
    if (peekCode(scanner) === doubleQuote && names.at(-1) === "") {
      path.push(...names.slice(0, -1));
      scanner.at--;
    } else path.push(...names);
  } while (takeDot(scanner));
  return { field: text.slice(at, scanner.at), path };
}

function scanBareField(scanner: Scanner, first: number): void {
  const { text, at } = scanner;
  let end = at + fieldWidth(text, at, first);
  if (end === at) throw unexpectedCharacter(scanner, "a field", nameHint(text, at) || undefined);
  for (let width = 1; width > 0; end += width) width = fieldWidth(text, end, fieldPart);
  scanner.at = end;
}

function takeDot(scanner: Scanner): boolean {
  if (peekCode(scanner) !== dot) return false;
  scanner.at++;
  return true;
}

function nameHint(text: string, at: number): string {
  return /[\p{L}\p{N}]/u.test(text.charAt(at))
    ? '; quote a field that is no plain word, as in "first name"==Ada'
    : "";
}

/** Scans an operator of a filter: a symbol, or a name between two `=`, even an unknown one. */
export function scanOperator(scanner: Scanner): string {
  const symbol = symbolAt(scanner.text, scanner.at);
  if (symbol === null) {
    const hint = peekCode(scanner) === equals
      ? "; use ==, or a name between two =, as in =in="
      : nameHint(scanner.text, scanner.at);
    throw unexpectedCharacter(scanner, "an operator", hint);
  }
  scanner.at += symbol.length;
  return symbol;
}

export function scanLiteral(scanner: Scanner): Literal {
  const code = peekCode(scanner);
  return code === doubleQuote || code === singleQuote
    ? scanQuoted(scanner, code)
    : scanWord(scanner);
}

export function unexpectedCharacter(scanner: Scanner, expected: string, hint?: string): Error {
  const { text, at } = scanner;
  const code = text.charCodeAt(at);
  const found = at >= text.length
    ? "the end"
    : isControl(code)
    ? "a control character"
    : surrogateWidth(text, at) === 0
    ? "a lone surrogate"
    : excerptOf(text.slice(at, at + 21));
  const advice = hint ??
    plusHint(text.slice(Math.max(0, at - maxTimestampLength), at + offsetWidth));
  return unreadableFilter(at, expected, `expected ${expected}, got ${found}${advice}`);
}

const maxTimestampLength = 40;
const offsetWidth = 5;

function scanQuoted(scanner: Scanner, quote: number): Literal {
  const { text, at } = scanner;
  let decoded = "";
  let from = at + 1;
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) {
      scanner.at = i + 1;
      return { text: decoded + text.slice(from, i), quoted: true, at };
    }
    if (code === backslash && i + 1 < text.length) {
      decoded += text.slice(from, i);
      from = ++i;
    }
    i += characterWidth(scanner, i, "a quoted text") - 1;
  }
  throw unreadableFilter(at, "a closing quote", "the quote is not closed");
}

function scanWord(scanner: Scanner): Literal {
  const { text, at } = scanner;
  let end = at;
  while (end < text.length) {
    const code = text.charCodeAt(end);
    if (code < 128) {
      if ((classes[code]! & wordEnd) !== 0) break;
      if ((code === ampersand || code === bar) && text.charCodeAt(end + 1) === code) break;
      end++;
    } else {
      end += characterWidth(scanner, end, "a value");
    }
  }
  if (end === at) throw unexpectedCharacter(scanner, "a value");
  scanner.at = end;
  return { text: text.slice(at, end), quoted: false, at };
}

/** Returns 2 for a surrogate pair, else 1. Throws for a control character or a lone surrogate. */
function characterWidth(scanner: Scanner, at: number, expected: string): number {
  const code = scanner.text.charCodeAt(at);
  const width = code < 0xd800 ? 1 : surrogateWidth(scanner.text, at);
  if (width === 0 || isControl(code)) {
    scanner.at = at;
    throw unexpectedCharacter(scanner, expected);
  }
  return width;
}

function surrogateWidth(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code < 0xd800 || code > 0xdfff) return 1;
  const next = text.charCodeAt(at + 1);
  return code < 0xdc00 && next >= 0xdc00 && next <= 0xdfff ? 2 : 0;
}

/** Returns true for C0 controls and DEL, except white space. They are errors even in quotes. */
function isControl(code: number): boolean {
  return (code < 0x20 && !isSpace(code)) || code === 0x7f;
}

function fieldWidth(text: string, at: number, wanted: number): number {
  const code = text.charCodeAt(at);
  if (code < 128) return (classes[code]! & wanted) !== 0 ? 1 : 0;
  if (at >= text.length) return 0;
  const letter = String.fromCodePoint(text.codePointAt(at)!);
  const belongs = wanted === fieldStart ? /\p{L}/u : /[\p{L}\p{N}]/u;
  return belongs.test(letter) ? letter.length : 0;
}

/** Returns the symbol at `at`, or null. Compares codes, not strings, because it is called often. */
function symbolAt(text: string, at: number): string | null {
  const next = text.charCodeAt(at + 1);
  switch (text.charCodeAt(at)) {
    case equals:
      return next === equals ? "==" : namedSymbolAt(text, at);
    case greater:
      return next === equals ? ">=" : ">";
    case less:
      return next === equals ? "<=" : "<";
    case percent:
      return next === equals ? "%=" : null;
    case bang:
      if (next === equals) return "!=";
      return next === percent && text.charCodeAt(at + 2) === equals ? "!%=" : null;
    default:
      return null;
  }
}

function namedSymbolAt(text: string, at: number): string | null {
  let end = at + 1;
  while (end - at <= 32 && (classes[text.charCodeAt(end)]! & nameLetter) !== 0) end++;
  return end > at + 1 && text.charCodeAt(end) === equals ? text.slice(at, end + 1) : null;
}

const doubleQuote = 0x22;
const singleQuote = 0x27;
const backslash = 0x5c;
const dot = 0x2e;
const ampersand = 0x26;
const bar = 0x7c;
const equals = 0x3d;
const greater = 0x3e;
const less = 0x3c;
const percent = 0x25;
const bang = 0x21;

const fieldStart = 1;
const fieldPart = 2;
const wordEnd = 4;
const nameLetter = 8;
const classes = classify();

function classify(): Uint8Array {
  const table = new Uint8Array(128);
  const add = (characters: RegExp, bit: number) => {
    for (let code = 0; code < 128; code++) {
      if (characters.test(String.fromCharCode(code))) table[code]! |= bit;
    }
  };
  add(/[A-Za-z_$]/, fieldStart);
  add(/[A-Za-z0-9_$.\-/:]/, fieldPart);
  // deno-lint-ignore no-control-regex -- control characters end a word, and are then refused
  add(/[\x00-\x20\x7f"'()[\],;=!<>~]/, wordEnd);
  add(/[A-Za-z0-9_-]/, nameLetter);
  return table;
}
