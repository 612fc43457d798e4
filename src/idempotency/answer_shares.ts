import type { MaybePromise } from "../runtime/maybe_promise.ts";

/** Limits the space for stored responses of each client. */
export interface ResponseStorageShares {
  /**
   * Reports to other processes how much a client has stored in this process. Waits only if it is
   * much. {@link take} never waits, because it can be called in a transaction.
   */
  reconcile(share: string): MaybePromise<void>;
  /** Takes bytes from a client's space. Returns false if too few are left. */
  take(share: string, bytes: number): boolean;
}
