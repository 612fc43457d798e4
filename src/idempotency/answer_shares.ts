import type { MaybePromise } from "../runtime/maybe_promise.ts";

/** Limits the space that stored responses of each client may use. */
export interface AnswerStorageShares {
  /**
   * Reports to other processes how much space a client has used in this process. Waits only for a
   * large amount. `take` never waits, because it may be called inside a transaction.
   */
  reconcile(share: string): MaybePromise<void>;
  /** Takes this number of bytes from a client's share. Returns false if too few are left. */
  take(share: string, bytes: number): boolean;
}
