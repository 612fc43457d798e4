export interface Reply {
  readonly status: number;
  /** The headers, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the response. A stream if the whole body would need too much memory. */
  readonly body: string | ReadableStream<Uint8Array> | null;
}

export const jsonContentType = "application/json";
