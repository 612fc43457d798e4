import { assertEquals } from "@std/assert";
import { textStream } from "../../src/protocol/text_stream.ts";

const part = 64 * 1024;

for (
  const [name, text] of [
    ["of whole parts", "a".repeat(2 * part)],
    ["with a character of two halves over the end of a part", "a".repeat(part - 1) + "😀b"],
    ["with half a character", "a".repeat(part - 1) + "\ud83d"],
  ] as const
) {
  Deno.test(`a text ${name} is the same as a stream`, async () => {
    const streamed = await new Response(textStream(text)).text();
    assertEquals(streamed, text.toWellFormed());
  });
}
