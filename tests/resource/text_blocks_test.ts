import { assertEquals, assertRejects } from "@std/assert";
import { UnreadableLine } from "../../src/resource/import/import_record.ts";
import { textBlocks, wholeLines } from "../../src/resource/import/text_blocks.ts";

interface Reading {
  readonly size: number;
  readonly encoding?: string;
  readonly maxRecordBytes?: number;
}

async function* inParts(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function linesOf(
  bytes: Uint8Array,
  { size, encoding, maxRecordBytes = Infinity }: Reading,
): Promise<string[]> {
  const lines: string[] = [];
  for await (const block of textBlocks(inParts(bytes, size), { encoding, maxRecordBytes })) {
    assertEquals(block.line, lines.length + 1);
    lines.push(...wholeLines(block).filter((line) => line !== ""));
  }
  return lines;
}

function utf16(text: string, isLittle: boolean): Uint8Array {
  const bytes = new Uint8Array(2 * text.length);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < text.length; at++) view.setUint16(2 * at, text.charCodeAt(at), isLittle);
  return bytes;
}

const short = ["aé☃👍", "b", "\ufeff👍"];

Deno.test("a body is decoded in parts of any size, by its mark or its encoding", async () => {
  const text = short.join("\n");
  const utf8 = new TextEncoder();
  const bodies: readonly [bytes: Uint8Array, encoding?: string][] = [
    [utf8.encode(text)],
    [utf8.encode(`\ufeff${text}`)],
    [utf8.encode(`\ufeff${text}`), "windows-1252"],
    [utf16(`\ufeff${text}`, true)],
    [utf16(`\ufeff${text}`, false)],
    [utf16(text, true), "utf-16le"],
  ];
  for (const [bytes, encoding] of bodies) {
    for (const size of [1, 2, 3, 4, 5, 100]) {
      assertEquals(await linesOf(bytes, { size, encoding: encoding ?? "utf-8" }), short);
    }
  }
  const japanese = Uint8Array.of(0x93, 0xfa, 0x96, 0x7b);
  assertEquals(await linesOf(japanese, { size: 1, encoding: "shift_jis" }), ["日本"]);
  assertEquals(await linesOf(utf8.encode("\ufeff"), { size: 1 }), []);
});

Deno.test("characters and lines at the ends of blocks are whole", async () => {
  // Every offset of each character is at the end of some block of 64 KiB.
  const lines = Array.from({ length: 60_000 }, (_, at) => `${"é☃👍".repeat(at % 7)}${at}`);
  const bytes = new TextEncoder().encode(lines.join("\n"));
  for (const size of [65_535, 65_536, 100_003]) {
    assertEquals(await linesOf(bytes, { size }), lines);
  }
  const long = ["x", "y".repeat(300_000), "z"];
  const longBytes = new TextEncoder().encode(long.join("\n"));
  assertEquals(await linesOf(longBytes, { size: 50_000, maxRecordBytes: 400_000 }), long);
  const error = await assertRejects(
    () => linesOf(longBytes, { size: 50_000, maxRecordBytes: 200_000 }),
    UnreadableLine,
    "is longer than 200000 bytes",
  );
  assertEquals(error.line, 2);
});

Deno.test("bytes that are no characters are refused with their line, never replaced", async () => {
  const before = new TextEncoder().encode("é\n".repeat(100_000));
  const wrong: readonly number[][] = [[0xff], [0xc3, 0x28], [0xe2, 0x98], [0x80], [0xf5, 0x80]];
  for (const bytes of wrong) {
    for (const after of [[], [0x0a, 0x61]]) {
      const body = Uint8Array.from([...before, ...bytes, ...after]);
      const error = await assertRejects(
        () => linesOf(body, { size: 65_536 }),
        UnreadableLine,
        "is not UTF-8",
      );
      assertEquals([error.line, error.option?.name], [100_001, "encoding"], String(bytes));
    }
  }
  const odd = utf16("\ufeffa\nb", true).subarray(0, -1);
  await assertRejects(() => linesOf(odd, { size: 3 }), UnreadableLine, "is not UTF-16LE");
});
