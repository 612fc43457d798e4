import { assert, assertEquals } from "@std/assert";
import { readBytes } from "../../src/runtime/read_bytes.ts";

/** Single bytes, each at the beginning of the same buffer of 64 KiB. */
function singleBytes(text: string): ReadableStream<Uint8Array<ArrayBuffer>> {
  const bytes = new TextEncoder().encode(text);
  const buffer = new Uint8Array(64 * 1024);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      const byte = bytes.at(at++);
      if (byte === undefined) return controller.close();
      buffer[0] = byte;
      controller.enqueue(buffer.subarray(0, 1));
    },
  }, { highWaterMark: 0 });
}

Deno.test("a body that arrived byte by byte held a buffer of 64 KiB for each", async () => {
  const text = "0123456789".repeat(100);
  const bytes = await readBytes(singleBytes(text), { limit: text.length });
  assert(typeof bytes !== "string");
  // Read after every buffer was used again: none of them is held.
  assertEquals(new TextDecoder().decode(bytes), text);
  assert(bytes.buffer.byteLength <= 2 * text.length);
});

Deno.test("a body of one byte more than the limit is not read on", async () => {
  assertEquals(await readBytes(singleBytes("0123456789"), { limit: 9 }), "too-large");
  assertEquals((await readBytes(singleBytes(""), { limit: 0 }))?.length, 0);
});

Deno.test("a body of very many small parts is not read on", async () => {
  let sent = 0;
  let isCancelled = false;
  const stream = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array([sent++ % 256])),
    cancel() {
      isCancelled = true;
    },
  }, { highWaterMark: 0 });
  assertEquals(await readBytes(stream, { limit: 1_000_000 }), "too-many-parts");
  assert(isCancelled && sent < 2_000, `${sent} parts were read`);
});
