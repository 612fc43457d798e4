/** The fields of one server-sent event, as strings: `data`, `id` and `retry`. */
export type EventBlock = Readonly<Record<string, string | undefined>>;

/** Receives the events of a stream. */
export interface StreamListener {
  take(block: EventBlock): void;
  arrived(): void;
}

/**
 * Reads a stream of server-sent events (WHATWG HTML, 9.2.6) block by block. The service writes
 * lines that end in LF, and at most one `data` line in a block. Calls `arrived` for each chunk,
 * including heartbeats. Resolves at the end of the stream. Rejects if the stream breaks or the
 * signal is aborted, even if more data has been received by then.
 */
export async function readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
  { take, arrived }: StreamListener,
): Promise<void> {
  // Node loses the signal of a request when the request is garbage-collected.
  const reader = body.pipeThrough(new TextDecoderStream(), { signal }).getReader();
  for (let text = "";;) {
    const { done, value } = await reader.read();
    if (done) return;
    arrived();
    const blocks = (text + value).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      signal.throwIfAborted();
      // Splits only at LF. For regular expressions, U+2028 also ends a line, but not in JSON.
      take(Object.fromEntries(block.split("\n").map((line) => line.split(/: *(.*)/s))));
    }
  }
}
