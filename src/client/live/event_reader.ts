/** The fields of one server-sent event, such as `data`, `id` and `retry`. */
export type EventFields = Readonly<Record<string, string | undefined>>;

export interface StreamListener {
  take(block: EventFields): void;
  arrived(): void;
}

/**
 * Parses a stream of server-sent events (WHATWG HTML, 9.2.6) in the service's format: lines end in
 * LF, and no event has two `data` lines. Calls `arrived` for each chunk, including heartbeats.
 * Resolves at the end of the stream. Rejects as soon as the stream breaks or the signal is aborted,
 * even if received data is unread.
 */
export async function readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
  { take, arrived }: StreamListener,
): Promise<void> {
  // After the response, Node's `fetch` may ignore its signal, so the reader has the signal, too.
  const reader = body.pipeThrough(new TextDecoderStream(), { signal }).getReader();
  for (let text = "";;) {
    const { done, value } = await reader.read();
    if (done) return;
    arrived();
    const blocks = (text + value).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      signal.throwIfAborted();
      // Lines are split only at LF, because JSON strings may contain U+2028.
      take(Object.fromEntries(block.split("\n").map((line) => line.split(/: *(.*)/s))));
    }
  }
}
