/**
 * Reads all bytes of a stream; null once they exceed `limit`, and then the rest is not read. What has
 * arrived is held without the buffers that it arrived in: one of 64 KiB may hold a single byte.
 */
export async function readBytes(
  stream: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  limit: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (stream === null) return new Uint8Array();
  const reader = stream.getReader();
  let held: Uint8Array<ArrayBuffer> = new Uint8Array();
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return held.subarray(0, length);
    const wanted = length + value.length;
    if (wanted > limit) {
      // Cancelling ends the connection; whether that succeeds does not matter to the caller.
      void reader.cancel().catch(() => undefined);
      return null;
    }
    if (wanted > held.length) held = grown(held.subarray(0, length), wanted);
    held.set(value, length);
    length = wanted;
  }
}

/** At least twice as long, so that each byte is copied a few times at most. */
function grown(held: Uint8Array<ArrayBuffer>, wanted: number): Uint8Array<ArrayBuffer> {
  const longer = new Uint8Array(Math.max(wanted, 2 * held.length));
  longer.set(held);
  return longer;
}
