/**
 * Remembers what was answered to a request that may come again. A key is claimed by one request at
 * a time; its claim runs out when nobody renews it, so that a process that died holds it no longer.
 * Every method rejects with a {@link StoreError} when the store does not do what it was asked.
 */
export interface IdempotencyStore {
  /** Claims the key, unless somebody else holds it or has finished. */
  claim(claim: IdempotencyClaim): Promise<ClaimResult>;
  /** What {@link claim} would find, without claiming: null where it would claim the key. */
  find(claim: IdempotencyClaim): Promise<FoundAnswer | null>;
  /** Holds the key for another {@link idempotencyLeaseMs}. Does nothing for whoever lost it. */
  renew(claim: IdempotencyClaim): Promise<void>;
  /** Keeps the answer for the next who asks. Does nothing for whoever lost the key. */
  finish(claim: IdempotencyClaim, answer: StoredAnswer): Promise<void>;
  /** Lets the next who asks begin anew. Does nothing once there is an answer. */
  release(claim: IdempotencyClaim): Promise<void>;
}

/** How long a claim holds. Three times as long as it takes to be renewed. */
export const idempotencyLeaseMs = 30_000;

/** Who wants to answer which request. */
export interface IdempotencyClaim {
  /** Names the key of one caller at one path: a text of 43 characters. */
  readonly id: string;
  /** Tells a repeated request from another one under the same key. */
  readonly fingerprint: string;
  /** Tells two who claim the same key apart. */
  readonly owner: string;
}

/** What became of a claim; the fingerprint is that of the request that came first. */
export type ClaimResult = { readonly kind: "claimed" } | FoundAnswer;

/** What somebody else has left under a key. */
export type FoundAnswer =
  | { readonly kind: "in-flight"; readonly fingerprint: string }
  | { readonly kind: "finished"; readonly fingerprint: string; readonly answer: StoredAnswer };

/** An answer, as far as it is given again. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}
