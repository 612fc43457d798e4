import type { Clock } from "../../../runtime/runtime.ts";

/** The members of a postgres.js query that its declarations lack. */
interface CancellableQuery {
  /** The connection on which the query was sent, or null before it was sent. */
  readonly state: object | null;
  /**
   * Sends one cancel request on a separate connection. Resolves when the server has passed the
   * request on and closed that connection. The declared `cancel()` sends only one request, and an
   * error of that request ends the process.
   */
  canceller(query: CancellableQuery): Promise<void>;
}

/**
 * The delays before repeated cancel requests, in milliseconds. The server ignores a request that
 * arrives between two messages of a statement.
 */
const repeatAfterMs = [100, 400, 1_500];

/** How long a cancel request may be in progress after its statement's end, in milliseconds. */
const graceMs = 1_000;

/**
 * Cancels a query on the Postgres server. `outcome` resolves with the query's error once the query
 * has ended. The result is true if the connection can be used again. The result is false if a
 * cancel request may still be in progress, or if the query still runs.
 */
export async function cancelQuery(
  query: object,
  outcome: Promise<unknown>,
  clock: Clock,
): Promise<boolean> {
  // Every query of postgres.js has these undeclared members.
  const cancellable = query as CancellableQuery;
  if (cancellable.state === null) return false;
  for (const [repetitions, waitMs] of repeatAfterMs.entries()) {
    // A failed cancel request has no effect, and the next cancel request may succeed.
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

/** Returns true if the cancel request has canceled the query, and thus no later query. */
function isCancellation(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "57014";
}
