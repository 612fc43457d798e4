import type { MaybePromise } from "../runtime/maybe_promise.ts";

/** The shares of clients in the room for stored answers. */
export interface AnswerShares {
  /**
   * Reconciles with the other processes what a client has taken in this one. It waits only where that
   * is much; `take` never does, as it may be called inside a transaction.
   */
  reconcile(share: string): MaybePromise<void>;
  /** Takes room for so many bytes; false where the share of the client is used up. */
  take(share: string, bytes: number): boolean;
}
