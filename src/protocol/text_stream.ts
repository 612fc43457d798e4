/** Of a string this long, a stream is the better body. */
export const longText = 64 * 1024;

const charactersOfPart = 64 * 1024;
const encoder = new TextEncoder();

/**
 * A string as the body of an answer that is encoded part by part, as its client receives it. A listener
 * takes a string at once, so that an answer would count as delivered which its client never reads.
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

/** Both halves of a character beyond 16 bits are in one part. */
function endOfPart(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end + 1 : end;
}
