import { Problem } from "../../problem/problem.ts";
import { sleep } from "../../runtime/event_loop.ts";
import type { Clock } from "../../runtime/runtime.ts";

/** What all bodies may have together that are being received. */
const maxReceivingBytes = 64 * 1024 * 1024;
/** A body with no more is received in any case. */
export const smallBodyBytes = 64 * 1024;

/**
 * So many parts of large bodies, of up to 64 KiB each, are read in a millisecond, or in one turn of
 * the event loop where more are at hand: Deno would poll its other sockets only now and then.
 */
const partsOfTurn = 4;
const turnMs = 1;

/** A body while it is received. */
export interface HeldBody {
  /** Counts so many bytes for it, in place of those before. Throws a 503 beyond the limit. */
  hold(bytes: number): void;
  /** Resolves when its next part may be read; undefined if that is now. */
  nextPart(): Promise<void> | undefined;
  /** Counts nothing any more. */
  end(): void;
}

/**
 * The bodies of requests that are being received, by all requests of an app: a client may send most
 * of a large one, and then wait. Large ones have a limit in common.
 */
export class ReceivingBodies {
  #bytes = 0;
  /** Those that wait to read their next part. */
  readonly #waiting: (() => void)[] = [];
  #partsOfTurn = 0;
  #turnBeganAt = -Infinity;
  readonly #clock: Pick<Clock, "elapsedMs">;

  /** Nothing is held. */
  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  /** Begins with a body, of which nothing is held. */
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
    // A part that is never sent takes no other's place: it counts when its read begins.
    if (this.#waiting.length === 0 && this.#partsOfTurn++ < partsOfTurn) return undefined;
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) void this.#serveWaiting();
    });
  }

  async #serveWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Only after a real timer Deno has handled all I/O (see `createYieldTurn`).
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
