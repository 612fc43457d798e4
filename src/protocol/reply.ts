/** A reply: a response as plain data, which the responder makes a `Response` at the end. */
export interface Reply {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** A stream where the body is too large to be held in memory. */
  readonly body: string | ReadableStream<Uint8Array> | null;
}

/** The content type of every reply with JSON that is not a problem. */
export const jsonType = "application/json";
