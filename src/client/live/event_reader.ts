/**
 * Reads a stream of server-sent events (WHATWG HTML, 9.2.6) block by block, in the form in which
 * the service writes it: lines end in LF, and no block has two `data` lines. `take` is given the
 * `data`, empty where there is none, the `id`, and `retry` in milliseconds, null where they are
 * missing; `arrived` is called for each chunk, heartbeats included. Resolves at the end of the
 * stream and of the signal, rejects where it breaks.
 */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  take: (data: string, id: string | null, retryMs: number | null) => void,
  arrived: () => void,
  signal: AbortSignal,
): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  // Node forgets the signal of a request once the request is collected as garbage.
  signal.onabort = () => reader.cancel().catch(() => {});
  for (let text = "";;) {
    const { done, value } = await reader.read();
    if (done) return;
    arrived();
    const blocks = (text + value).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      let data = "";
      let id: string | null = null;
      let retryMs: number | null = null;
      // By LF alone: to a regular expression U+2028 ends a line too, and JSON leaves it as it is.
      for (const line of block.split("\n")) {
        if (line.startsWith("data: ")) data = line.slice(6);
        else if (line.startsWith("id:")) id = line.slice(3).trim();
        else if (line.startsWith("retry: ")) retryMs = Number(line.slice(7));
      }
      take(data, id, retryMs);
    }
  }
}
