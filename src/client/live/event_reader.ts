/** The fields of a block of a stream of server-sent events: `data`, `id` and `retry`, as strings. */
export type EventBlock = Readonly<Record<string, string | undefined>>;

/** What receives a stream. */
export interface StreamListener {
  take(block: EventBlock): void;
  arrived(): void;
}

/**
 * Reads a stream of server-sent events (WHATWG HTML, 9.2.6) block by block, in the form in which
 * the service writes it: lines end in LF, and no block has two `data` lines. `arrived` is called for
 * each chunk, heartbeats included. Resolves at the end of the stream, rejects where it breaks, and
 * once the signal ends it, whatever has been received by then.
 */
export async function readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
  { take, arrived }: StreamListener,
): Promise<void> {
  // Node forgets the signal of a request once the request is collected as garbage.
  const reader = body.pipeThrough(new TextDecoderStream(), { signal }).getReader();
  for (let text = "";;) {
    const { done, value } = await reader.read();
    if (done) return;
    arrived();
    const blocks = (text + value).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      signal.throwIfAborted();
      // By LF alone: to a regular expression U+2028 ends a line too, and JSON leaves it as it is.
      take(Object.fromEntries(block.split("\n").map((line) => line.split(/: *(.*)/s))));
    }
  }
}
