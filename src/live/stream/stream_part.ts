import type { LiveStream } from "./live_stream.ts";

/** The part of a multiplexed stream (one response for several streams) that carries one stream. */
export interface StreamPart {
  /** Returns the monotonic time at which the whole stream ends: the first proposed time. */
  endsAt(proposed: number): number;
  /** Attaches the live stream. `end` ends the stream with a resume token and a delay. */
  attach(stream: LiveStream, end: (delayMs: number) => void): void;
  endWhole(delayMs: number): void;
}
