export interface Reply {
  readonly status: number;
  /** The headers, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the response: a stream if the body is too large for the memory. */
  readonly body: string | ReadableStream<Uint8Array> | null;
}

export const jsonContentType = "application/json";
