import { Problem } from "../../problem/problem.ts";
import { sleep } from "../../runtime/event_loop.ts";
import type { Clock } from "../../runtime/runtime.ts";

/** The largest sum of all bodies that are being received, in bytes. */
const maxReceivingBytes = 64 * 1024 * 1024;
/** The size up to which a body is received in any case, in bytes. */
export const smallBodyBytes = 64 * 1024;

/**
 * The number of parts of large bodies, of up to 64 KiB each, that are read per millisecond, or per
 * turn of the event loop if more parts are available. Otherwise Deno would poll its other sockets
 * only occasionally.
 */
const partsOfTurn = 4;
const turnMs = 1;

/** A body while it is received. */
export interface HeldBody {
  /** Counts this number of bytes for the body, instead of the previous one. May throw a 503. */
  hold(bytes: number): void;
  /** Resolves when the next part may be read; undefined if that is now. */
  nextPart(): Promise<void> | undefined;
  /** Counts no bytes of the body any more. */
  end(): void;
}

/**
 * Limits the request bodies that are being received in an app, because a client may send most of a
 * large body and then wait. Large bodies share one limit.
 */
export class ReceivingBodies {
  #bytes = 0;
  /** Bodies that wait to read their next part. */
  readonly #waiting: (() => void)[] = [];
  #partsOfTurn = 0;
  #turnBeganAt = -Infinity;
  readonly #clock: Pick<Clock, "elapsedMs">;

  /** Creates the limiter without bodies. */
  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  /** Begins with a body, of which no bytes count yet. */
  begin(): HeldBody {
    let held = 0;
    const count = (bytes: number) => {
      this.#bytes += bytes - held;
      held = bytes;
    };
    return {
      hold: (bytes) => {
        if (bytes <= smallBodyBytes) return;
        if (this.#bytes - held + bytes > maxReceivingBytes) throw tooMuchAtOnce();
        count(bytes);
      },
      nextPart: () => this.#nextPart(),
      end: () => count(0),
    };
  }

  #nextPart(): Promise<void> | undefined {
    const now = this.#clock.elapsedMs();
    if (this.#waiting.length === 0 && now - this.#turnBeganAt >= turnMs) {
      this.#turnBeganAt = now;
      this.#partsOfTurn = 0;
    }
    // A part that is never sent does not delay other parts, because a part counts only when its
    // read begins.
    if (this.#waiting.length === 0 && this.#partsOfTurn++ < partsOfTurn) return undefined;
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) void this.#serveWaiting();
    });
  }

  async #serveWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Only after a real timer has Deno handled all I/O (see `createYieldTurn`).
      await sleep(0);
      for (const resolve of this.#waiting.splice(0, partsOfTurn)) resolve();
    }
  }
}

function tooMuchAtOnce(): Problem {
  return new Problem(
    "overloaded",
    "Cannot receive this body: too many large ones are being received",
    { headers: { "retry-after": "1", connection: "close" } },
  );
}
