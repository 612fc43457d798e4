import type { Clock } from "../../../runtime/runtime.ts";

/** The members of a postgres.js query that the library's type declarations lack. */
interface CancellableQuery {
  /** The connection on which the query was sent, or null if it was not sent yet. */
  readonly state: object | null;
  /**
   * Sends a cancel request on a separate connection, and resolves when the server has closed that
   * connection. An error of the library's own `cancel()` would end the process.
   */
  canceller(query: CancellableQuery): Promise<void>;
}

/** Delays of repeated cancel requests, in ms. A server ignores a request between two statements. */
const repeatAfterMs = [100, 400, 1_500];

/** How long a cancel request can last after its statement has ended, in milliseconds. */
const graceMs = 1_000;

/** Returns false if the connection is unusable: the query runs on, or a cancel can still arrive. */
export async function cancelQuery(
  query: object,
  outcome: Promise<unknown>,
  clock: Clock,
): Promise<boolean> {
  // The cast is safe: every query of postgres.js has these members.
  const cancellable = query as CancellableQuery;
  if (cancellable.state === null) return false;
  for (const [repetitions, waitMs] of repeatAfterMs.entries()) {
    // Ignores a failed cancel request, because the next request can succeed.
    const request = cancellable.canceller(cancellable).catch(() => {});
    if (!await endsWithin(outcome, waitMs, clock)) continue;
    return repetitions === 0 && isCancellation(await outcome) &&
      await endsWithin(request, graceMs, clock);
  }
  return false;
}

function endsWithin(work: Promise<unknown>, limitMs: number, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.after(limitMs, () => resolve(false));
    work.then(() => {
      cancel();
      resolve(true);
    });
  });
}

/** Returns true if the cancel request has arrived, so that it cannot cancel a later query. */
function isCancellation(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "57014";
}
