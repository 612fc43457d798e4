import type { Clock } from "../../../runtime/runtime.ts";

/** A query of postgres.js by what its declarations lack. */
interface CancellableQuery {
  /** The connection that it was sent on; null before. */
  readonly state: object | null;
  /**
   * Sends one cancel request, by a connection of its own; resolves when the server has closed that,
   * which it does after it has passed the request on. The declared `cancel()` calls it only once,
   * and leaves its failure to end the process.
   */
  canceller(query: CancellableQuery): Promise<void>;
}

/** The server ignores a request that comes between two messages of a statement. */
const repeatAfterMs = [100, 400, 1_500];

/** How long a cancel request may still be under way when its statement has ended. */
const graceMs = 1_000;

/**
 * Cancels a query on the Postgres server. `outcome` resolves with its error once it has ended.
 * Resolves with whether its connection is safe to use again: false where a cancel request may still
 * be under way, or the query runs on.
 */
export async function cancelQuery(
  query: object,
  outcome: Promise<unknown>,
  clock: Clock,
): Promise<boolean> {
  // Every query of the library is one.
  const cancellable = query as CancellableQuery;
  if (cancellable.state === null) return false;
  for (const [repetitions, waitMs] of repeatAfterMs.entries()) {
    // A request that failed has done nothing, and the next one may succeed.
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

/** The request has hit the query, and cannot hit another one. */
function isCancellation(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "57014";
}
