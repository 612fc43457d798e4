import type { MaybePromise } from "../runtime/maybe_promise.ts";

/** Limits the space for stored responses of each client. */
export interface ResponseStorageShares {
  /** Reports a client's stored bytes to other processes. Unlike {@link take}, it can wait. */
  reconcile(share: string): MaybePromise<void>;
  /** Takes bytes from a client's space. Returns false if too few are left. */
  take(share: string, bytes: number): boolean;
}
