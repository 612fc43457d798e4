import type { MaybePromise } from "../runtime/maybe_promise.ts";

export interface ResponseStorageShares {
  /** Reports a client's stored bytes to other processes. May wait, unlike {@link take}. */
  reconcile(share: string): MaybePromise<void>;
  take(share: string, bytes: number): boolean;
}
