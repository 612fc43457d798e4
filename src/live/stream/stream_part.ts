import type { LiveStream } from "./live_stream.ts";

/** A part of a multiplexed stream, as the hub of its live stream uses it. */
export interface StreamPart {
  /** Returns the monotonic time at which the whole stream ends, as the first part proposed it. */
  endsAt(proposed: number): number;
  /** Attaches a live stream. `end` ends the stream with its position and a delay. */
  attach(stream: LiveStream, end: (delayMs: number) => void): void;
  /** Ends all parts with their positions and this delay, and then the whole stream. */
  endWhole(delayMs: number): void;
}
