/** The length from which a string is sent as a stream, in UTF-16 units. */
export const longText = 64 * 1024;

const charactersOfPart = 64 * 1024;
const encoder = new TextEncoder();

/**
 * Returns a string as the body of a response. The body is encoded part by part, as its client
 * receives it. A listener takes a string immediately, so a response that its client never reads
 * would count as delivered.
 */
export function textStream(text: string): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      const end = endOfPart(text, at + charactersOfPart);
      controller.enqueue(encoder.encode(text.slice(at, end)));
      at = end;
      if (at >= text.length) controller.close();
    },
  }, { highWaterMark: 0 });
}

/** Returns the end of a part. Both halves of a character beyond 16 bits are in one part. */
function endOfPart(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end + 1 : end;
}
