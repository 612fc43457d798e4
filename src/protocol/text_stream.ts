export const minStreamedLength = 64 * 1024;

const charactersOfPart = 64 * 1024;
const encoder = new TextEncoder();

/** Encodes part by part, because the server would report a whole string as delivered too early. */
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

/** Returns the end of the string's next part, which never splits a surrogate pair. */
function endOfPart(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end + 1 : end;
}
