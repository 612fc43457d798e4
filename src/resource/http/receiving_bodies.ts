import { Problem } from "../../problem/problem.ts";

/** What all bodies may have together that are being received. */
const maxReceivingBytes = 64 * 1024 * 1024;
/** A body with no more is received in any case. */
const smallBodyBytes = 64 * 1024;

/** A body while it is received. */
export interface HeldBody {
  /** Counts so many bytes for it, in place of those before. Throws a 503 beyond the limit. */
  hold(bytes: number): void;
  /** Counts nothing any more. */
  end(): void;
}

/**
 * The bodies of requests that are being received, by all requests of an app: a client may send most
 * of a large one, and then wait. Large ones have a limit in common.
 */
export class ReceivingBodies {
  #bytes = 0;

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
      end: () => count(0),
    };
  }
}

function tooMuchAtOnce(): Problem {
  return new Problem(
    "overloaded",
    "Cannot receive this body: too many large ones are being received",
    { headers: { "retry-after": "1", connection: "close" } },
  );
}
