/** A reply: a response as plain data. The responder converts it to a `Response` at the end. */
export interface Reply {
  readonly status: number;
  /** The headers, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body; a stream if it is too large to be held in memory. */
  readonly body: string | ReadableStream<Uint8Array> | null;
}

/** The content type of every reply with JSON that is not a problem. */
export const jsonType = "application/json";
