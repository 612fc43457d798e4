/** A response as plain data, from which the pipeline creates a `Response` at the end. */
export interface Reply {
  readonly status: number;
  /** The headers, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the response: a stream if the body is too large for the memory. */
  readonly body: string | ReadableStream<Uint8Array> | null;
}

/** The content type of every JSON response except problems. */
export const jsonContentType = "application/json";
