import type { LiveStream } from "./live_stream.ts";

/** A part of a multiplexed stream: what the hub of its live stream needs of the whole. */
export interface StreamPart {
  /**
   * When the lifetime of the whole is over, by the monotonic clock: what the first of its parts has
   * proposed.
   */
  endsAt(proposed: number): number;
  /** Takes what a live stream sends. `end` ends it with its position and a delay. */
  attach(stream: LiveStream, end: (delayMs: number) => void): void;
  /** Ends all parts of the whole, each with its position and this delay, and then the whole. */
  endWhole(delayMs: number): void;
}
