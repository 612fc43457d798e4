/** An answer before it becomes a `Response`: plain data, so that one place builds every response. */
export interface Reply {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** A stream is for answers that are never held whole. */
  readonly body: string | ReadableStream<Uint8Array> | null;
}

/** The content type of every JSON answer that is not a problem. */
export const jsonType = "application/json";
