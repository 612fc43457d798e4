import type { MaybePromise } from "../runtime/maybe_promise.ts";

/** The shares of clients in the space for stored responses. */
export interface AnswerShares {
  /**
   * Reports to the other processes how much a client has taken in this process. It waits only if
   * that is much. `take` never waits, because it may be called inside a transaction.
   */
  reconcile(share: string): MaybePromise<void>;
  /** Takes space for this number of bytes. Returns false if the share of the client is used up. */
  take(share: string, bytes: number): boolean;
}
