import { Buffer } from "node:buffer";
import { UnreadableLine } from "./import_record.ts";

/** A decoded part of a body. Each block begins at the start of a record. */
export interface TextBlock {
  readonly text: string;
  readonly line: number;
  readonly isLast: boolean;
  /** The offset and the line after the last whole record. The consumer sets them. */
  end: { readonly at: number; readonly line: number };
}

/** The size of a block, in bytes. One turn of the event loop parses it in milliseconds. */
const blockBytes = 64 * 1024;

/** Decodes a body. The rest of a block begins the next block. Throws {@link UnreadableLine}. */
export async function* textBlocks(
  parts: AsyncIterable<Uint8Array>,
  { encoding, maxRecordBytes }: {
    /** The encoding of a body without a byte order mark. Default: UTF-8. */
    readonly encoding?: string | undefined;
    readonly maxRecordBytes: number;
  },
): AsyncGenerator<TextBlock, void> {
  const decode = createDecoder(encoding, () => line + feedsIn(held));
  let held = "";
  let line = 1;
  let wanted = blockBytes;
  const cut = (isLast: boolean): TextBlock => ({ text: held, line, isLast, end: { at: 0, line } });
  try {
    for await (const part of parts) {
      for (let at = 0; at < part.length; at += blockBytes) {
        held += decode(part.subarray(at, at + blockBytes), false);
        if (held.length < wanted) continue;
        const block = cut(false);
        yield block;
        // Doubles the block if it has no whole record, so that a long record is not parsed often.
        wanted = block.end.at === 0 ? Math.min(2 * held.length, maxRecordBytes + 1) : blockBytes;
        held = held.slice(block.end.at);
        line = block.end.line;
        if (held.length > maxRecordBytes) throw recordTooLong(maxRecordBytes, line);
      }
    }
    held += decode(new Uint8Array(), true);
  } catch (error) {
    // If the body ends early, the complete records are still used, so that no chunk is lost.
    if (!(error instanceof UnreadableLine)) yield cut(false);
    throw error;
  }
  if (held !== "") yield cut(true);
}

/** Returns the whole lines of a block, and the empty string after the block's last line feed. */
export function wholeLines(block: TextBlock): readonly string[] {
  const at = block.isLast ? block.text.length : block.text.lastIndexOf("\n") + 1;
  const text = block.text.slice(0, at);
  block.end = { at, line: block.line + feedsIn(text) };
  return text.split("\n");
}

export function feedsIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

export function recordTooLong(limit: number, line: number): UnreadableLine {
  return new UnreadableLine(line, `is longer than ${limit} bytes`);
}

function createDecoder(
  label: string | undefined,
  line: () => number,
): (part: Uint8Array, isLast: boolean) => string {
  let decoder: TextDecoder | null = null;
  let isStart = true;
  let rest: Uint8Array = new Uint8Array();
  return (part, isLast) => {
    const bytes: Uint8Array = Buffer.concat([rest, part]);
    rest = bytes;
    // The first bytes can be a part of a byte order mark, so the decoder waits for more bytes.
    if (decoder === null && bytes.length < 4 && !isLast) return "";
    if (decoder === null && utf32Marks.has(bytes.subarray(0, 4).join(" "))) {
      throw new UnreadableLine(1, "is UTF-32: save the file as UTF-8");
    }
    decoder ??= new TextDecoder(
      markedEncoding(bytes) ?? label ?? unmarkedEncoding(bytes),
      { fatal: true, ignoreBOM: true },
    );
    const { encoding } = decoder;
    const isUtf8 = encoding === "utf-8";
    const end = isLast || !isUtf8 ? bytes.length : wholeCharacters(bytes);
    rest = bytes.subarray(end);
    try {
      // With the option `stream`, Deno returns strings of two bytes per character, which are slow.
      const text = decoder.decode(bytes.subarray(0, end), { stream: !isLast && !isUtf8 });
      const isMarked = isStart && text.startsWith("\ufeff");
      isStart &&= text === "";
      return isMarked ? text.slice(1) : text;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      const [valid = ""] = new TextDecoder(encoding).decode(bytes).split("\ufffd", 1);
      const option = isUtf8 ? anyBytes : undefined;
      throw new UnreadableLine(
        line() + feedsIn(valid),
        `is not ${encoding.toUpperCase()}`,
        "",
        option,
      );
    }
  };
}

const utf32Marks: ReadonlySet<string> = new Set(["255 254 0 0", "0 0 254 255"]);

/** Returns the length of the bytes without the last UTF-8 character, which might be incomplete. */
function wholeCharacters(bytes: Uint8Array): number {
  let end = bytes.length;
  while (bytes.length - end < 3 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end--;
  return (bytes[end - 1] ?? 0) >= 0xc0 ? end - 1 : end;
}

/** The usual encoding of spreadsheets for western languages. Every byte is a character in it. */
const anyBytes = { name: "encoding", value: "windows-1252" } as const;

function markedEncoding([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined;
}

function unmarkedEncoding([first, second]: Uint8Array): string {
  if (first !== 0 && second !== 0) return "utf-8";
  const value = first === 0 ? "utf-16be" : "utf-16le";
  throw new UnreadableLine(1, "has NUL characters", "", { name: "encoding", value });
}
