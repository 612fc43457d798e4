import { UnreadableLine } from "./import_record.ts";

/** A part of a body that consists of whole records, as a string. */
export interface TextBlock {
  readonly text: string;
  /** The number of the block's first line, counted from 1. */
  readonly line: number;
}

export interface BlockOptions {
  /** True if a line feed in a quoted field does not end a record, as in CSV. */
  readonly quotes: boolean;
  readonly maxRecordBytes: number;
}

/** The size of a block, in bytes. One turn of the event loop parses it in milliseconds. */
const blockBytes = 64 * 1024;

const lineFeed = 10;
const carriageReturn = 0x0d;
const doubleQuote = 34;
const comma = 44;

/**
 * Divides a body into blocks of whole records. Skips a byte order mark at the start. Throws an
 * {@link UnreadableLine} for a record that is too large and for bytes that are not UTF-8.
 */
export async function* textBlocks(
  parts: AsyncIterable<Uint8Array>,
  options: BlockOptions,
): AsyncGenerator<TextBlock, void> {
  const cutter = new BlockCutter(options);
  try {
    for await (const part of parts) {
      for (let at = 0; at < part.length; at += blockBytes) {
        const block = cutter.add(part.subarray(at, at + blockBytes));
        if (block !== null) yield block;
      }
    }
  } catch (error) {
    // If the body ends early, the complete records are still used, so that no chunk is lost.
    const rest = error instanceof UnreadableLine ? null : cutter.whole();
    if (rest !== null) yield rest;
    throw error;
  }
  const last = cutter.end();
  if (last !== null) yield last;
}

class BlockCutter {
  readonly #quotes: boolean;
  readonly #maxRecordBytes: number;
  /** The received bytes that belong to no block yet. */
  #held: Uint8Array = new Uint8Array(2 * blockBytes);
  #length = 0;
  /** The offset in the held bytes where the last whole record ends. */
  #recordEnd = 0;
  /** The number of held bytes that have been scanned. */
  #seen = 0;
  #isQuoted = false;
  /** The number of CSV lines that end in the scanned bytes. */
  #lines = 0;
  #wholeLines = 0;
  #line = 1;
  #isFirst = true;

  constructor({ quotes, maxRecordBytes }: BlockOptions) {
    this.#quotes = quotes;
    this.#maxRecordBytes = maxRecordBytes;
  }

  add(part: Uint8Array): TextBlock | null {
    this.#hold(part);
    if (this.#quotes) this.#lookBetweenQuotes();
    else this.#recordEnd = this.#held.subarray(0, this.#length).lastIndexOf(lineFeed) + 1;
    if (this.#length < blockBytes) return null;
    const block = this.whole();
    if (this.#length > this.#maxRecordBytes) throw recordTooLong(this.#maxRecordBytes, this.#line);
    return block;
  }

  whole(): TextBlock | null {
    return this.#recordEnd === 0 ? null : this.#cut(this.#recordEnd);
  }

  /** Returns the held bytes at the end of the body. */
  end(): TextBlock | null {
    return this.#length === 0 ? null : this.#cut(this.#length);
  }

  #hold(part: Uint8Array): void {
    const wanted = this.#length + part.length;
    if (wanted > this.#held.length) {
      const longer = new Uint8Array(Math.max(wanted, 2 * this.#held.length));
      longer.set(this.#held.subarray(0, this.#length));
      this.#held = longer;
    }
    this.#held.set(part, this.#length);
    this.#length = wanted;
  }

  #lookBetweenQuotes(): void {
    const held = this.#held;
    let isQuoted = this.#isQuoted;
    let at = this.#seen;
    for (; at < this.#length; at++) {
      const byte = held[at];
      // Within a field without quotes, a quote is a syntax error, not the start of a quoted string.
      if (byte === doubleQuote) isQuoted = !isQuoted && beginsQuotes(held[at - 1]);
      else if (byte === lineFeed) this.#endLine(at, isQuoted);
      else if (byte === carriageReturn && !isQuoted) {
        // The next byte can be a line feed, but has not been received yet.
        if (at + 1 === this.#length) break;
        if (held[at + 1] !== lineFeed) this.#endLine(at, false);
      }
    }
    this.#isQuoted = isQuoted;
    this.#seen = at;
  }

  #endLine(at: number, isQuoted: boolean): void {
    this.#lines++;
    if (isQuoted) return;
    this.#recordEnd = at + 1;
    this.#wholeLines = this.#lines;
  }

  #cut(end: number): TextBlock {
    const bytes = this.#held.subarray(0, end);
    const line = this.#line;
    const text = decoded(this.#isFirst ? withoutMark(bytes) : bytes, line);
    this.#line += this.#quotes ? this.#wholeLines : feedsIn(bytes);
    this.#lines -= this.#wholeLines;
    this.#wholeLines = 0;
    this.#held.copyWithin(0, end, this.#length);
    this.#length -= end;
    this.#seen = Math.max(0, this.#seen - end);
    this.#recordEnd = 0;
    this.#isFirst = false;
    return { text, line };
  }
}

/** Returns true if a quote after this byte begins a quoted field, or is the second of a `""`. */
function beginsQuotes(before: number | undefined): boolean {
  return before === undefined || before === comma || before === lineFeed ||
    before === carriageReturn || before === doubleQuote;
}

function feedsIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) count++;
  return count;
}

export function recordTooLong(limit: number, line: number): UnreadableLine {
  return new UnreadableLine(line, `is longer than ${limit} bytes`);
}

/** The decoder keeps no state. A byte order mark within the text is an ordinary character. */
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decoded(bytes: Uint8Array, firstLine: number): string {
  try {
    return strictUtf8.decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UnreadableLine(malformedLine(bytes, firstLine), "is not UTF-8");
  }
}

function malformedLine(bytes: Uint8Array, firstLine: number): number {
  const valid = new TextDecoder("utf-8", { ignoreBOM: true });
  const encoder = new TextEncoder();
  let line = firstLine;
  for (let start = 0; start < bytes.length; line++) {
    const feed = bytes.indexOf(lineFeed, start);
    const end = feed < 0 ? bytes.length : feed + 1;
    const given = bytes.subarray(start, end);
    const again = encoder.encode(valid.decode(given));
    if (again.length !== given.length || again.some((byte, at) => byte !== given[at])) return line;
    start = end;
  }
  return line;
}

function withoutMark(bytes: Uint8Array): Uint8Array {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return isMarked ? bytes.subarray(3) : bytes;
}
