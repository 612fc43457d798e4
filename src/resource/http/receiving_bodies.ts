import { Problem } from "../../problem/problem.ts";
import { sleep } from "../../runtime/event_loop.ts";
import type { Clock } from "../../runtime/runtime.ts";

/** The largest total size of all bodies that are being received, in bytes. */
const maxReceivingBytes = 64 * 1024 * 1024;
/** A body of up to this size, in bytes, is received even if the limit is reached. */
export const smallBodyBytes = 64 * 1024;

/**
 * The number of parts of large bodies, of up to 64 KiB each, that are read in one turn of the event
 * loop. With more parts, Deno would poll its other sockets only occasionally.
 */
const partsOfTurn = 4;
const turnMs = 1;

/** A request body that is being received, and that counts against the shared limit. */
export interface IncomingBody {
  /** Sets how many bytes of this body count against the limit. Throws a 503 above the limit. */
  hold(bytes: number): void;
  /** Returns a promise for the time to read the next part, or undefined to read it immediately. */
  nextPart(): Promise<void> | undefined;
  /** Stops counting the body against the limit. */
  end(): void;
}

/**
 * Limits the request bodies that are being received in an app, because clients could send most of a
 * large body and then wait. Large bodies share one limit.
 */
export class ReceivingBodyLimiter {
  #bytes = 0;
  /** Bodies that wait to read their next part. */
  readonly #waiting: (() => void)[] = [];
  #partsOfTurn = 0;
  #turnBeganAt = -Infinity;
  readonly #clock: Pick<Clock, "elapsedMs">;

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  /** Registers a body. None of its bytes count yet. */
  begin(): IncomingBody {
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
    // A part counts from its read on: a slow client could otherwise use up the limit of others.
    if (this.#waiting.length === 0 && this.#partsOfTurn++ < partsOfTurn) return undefined;
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) void this.#serveWaiting();
    });
  }

  async #serveWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Deno has handled all I/O only after a real timer (see `createYieldTurn`).
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
