/** The number of parts that each stream can have, even if the parts are tiny. */
const freeParts = 1_024;
/** For each 64 bytes, a stream can have one more part. More parts would take too much time. */
const bytesOfPart = 64;

export interface ReadBytesOptions {
  readonly limit: number;
  /** The announced number of bytes. Absent if the sender has announced none. */
  readonly expected?: number;
  /** Called when the number of bytes in memory grows. If it throws, reading stops. */
  readonly hold?: (bytes: number) => void;
  /** Called before each part. The part is read after the returned promise, if any, has resolved. */
  readonly nextPart?: () => Promise<void> | undefined;
}

/**
 * Reads all bytes of a stream. Stops if there are more than `limit` bytes or very many small parts.
 * The result is a copy: a received part of a single byte can keep a buffer of 64 KiB in memory.
 */
export async function readBytes(
  stream: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  { limit, expected = 0, hold = () => {}, nextPart = () => undefined }: ReadBytesOptions,
): Promise<Uint8Array<ArrayBuffer> | "too-large" | "too-many-parts"> {
  if (stream === null) return new Uint8Array();
  const reader = stream.getReader();
  let held: Uint8Array<ArrayBuffer> = new Uint8Array(expected);
  let length = 0;
  try {
    for (let parts = 1;; parts++) {
      const turn = nextPart();
      if (turn !== undefined) await turn;
      const { done, value } = await reader.read();
      if (done) return held.subarray(0, length);
      const wanted = length + value.length;
      if (wanted > limit) return "too-large";
      if (parts > freeParts + wanted / bytesOfPart) return "too-many-parts";
      if (wanted > held.length) {
        const bytes = Math.max(wanted, 2 * held.length);
        hold(bytes);
        held = copied(held.subarray(0, length), bytes);
      }
      held.set(value, length);
      length = wanted;
    }
  } finally {
    // Closes the connection unless the stream has ended. An error while closing is irrelevant.
    void reader.cancel().catch(() => undefined);
  }
}

/** Returns a copy with this length. The caller doubles the length, so that copies are rare. */
function copied(held: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  const longer = new Uint8Array(length);
  longer.set(held);
  return longer;
}
