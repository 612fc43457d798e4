/** Why the bytes of a stream were not read to the end. */
export type ReadRefusal = "too-large" | "too-many-parts";

/** So many parts may be of any size. */
const freeParts = 1_024;
/** The others have so many bytes on average: to receive a part takes longer than a few bytes do. */
const bytesOfPart = 64;

/** How the bytes of a stream are read. */
export interface ReadBytesOptions {
  /** The most bytes. */
  readonly limit: number;
  /** How many are announced, where that is known. */
  readonly expected?: number;
  /**
   * Called with the bytes that it holds whenever these grow; where it throws, the rest is not read.
   */
  readonly hold?: (bytes: number) => void;
  /** Called before each part, which is read once the promise is resolved. */
  readonly nextPart?: () => Promise<void> | undefined;
}

/**
 * Reads all bytes of a stream, unless they exceed `limit` or come in very many small parts: then the
 * rest is not read. What has arrived is held without the buffers that it arrived in: one of 64 KiB
 * may hold a single byte.
 */
export async function readBytes(
  stream: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  { limit, expected = 0, hold = () => {}, nextPart = () => undefined }: ReadBytesOptions,
): Promise<Uint8Array<ArrayBuffer> | ReadRefusal> {
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
    // Of a stream that is not at its end, this ends the connection; the caller need not know whether
    // that succeeds.
    void reader.cancel().catch(() => undefined);
  }
}

/** At least twice as long each time, so that each byte is copied a few times at most. */
function copied(held: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  const longer = new Uint8Array(length);
  longer.set(held);
  return longer;
}
