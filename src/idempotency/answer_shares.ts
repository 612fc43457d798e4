import type { MaybePromise } from "../runtime/maybe_promise.ts";

export interface ResponseStorageShares {
  /** Reports a client's stored bytes to other processes. Unlike {@link take}, can be async. */
  reconcile(share: string): MaybePromise<void>;
  take(share: string, bytes: number): boolean;
}
