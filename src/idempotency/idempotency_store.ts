/**
 * The interface of idempotency stores, which keep the answers to requests that may be repeated. A
 * key is claimed by one request at a time; a claim that is not renewed expires, so that a process
 * that died holds it no longer. Every method rejects with a {@link StoreError} when the store
 * fails.
 */
export interface IdempotencyStore {
  /** Claims the key, unless another request holds it or has finished. */
  claim(claim: IdempotencyClaim): Promise<ClaimResult>;
  /** The result of {@link claim} without claiming: null if it would claim the key. */
  find(claim: IdempotencyClaim): Promise<FoundAnswer | null>;
  /** Holds the key for another {@link idempotencyLeaseMs}. Does nothing once the claim is lost. */
  renew(claim: IdempotencyClaim): Promise<void>;
  /** Stores the answer for repetitions. Does nothing once the claim is lost. */
  finish(claim: IdempotencyClaim, answer: KeptAnswer): Promise<void>;
  /** Frees the key for the next request. Does nothing once there is an answer. */
  release(claim: IdempotencyClaim): Promise<void>;
}

/**
 * How long a claim in an idempotency store lasts: three times the interval at which it is renewed.
 */
export const idempotencyLeaseMs = 30_000;

/** A request's claim on its key in an idempotency store. */
export interface IdempotencyClaim {
  /** Names the key of one caller at one path: a string of 43 characters. */
  readonly id: string;
  /** Distinguishes a repeated request from another one under the same key. */
  readonly fingerprint: string;
  /** Distinguishes two claims on the same key. */
  readonly owner: string;
  /** Names the client that fills the store with it. */
  readonly share: string;
}

/**
 * The outcome of a claim in an idempotency store; the fingerprint is that of the first request
 * under the key.
 */
export type ClaimResult = { readonly kind: "claimed" } | FoundAnswer;

/**
 * What an idempotency store finds under a key, where another request has claimed it or has
 * finished.
 */
export type FoundAnswer =
  | { readonly kind: "in-flight"; readonly fingerprint: string }
  | {
    readonly kind: "finished";
    readonly fingerprint: string;
    /** Null if the store has dropped it to make room. */
    readonly answer: StoredAnswer | null;
  };

/** The part of an answer that an idempotency store keeps to be replayed. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** An answer to store, and for how long. */
export interface KeptAnswer {
  readonly answer: StoredAnswer;
  readonly keepMs: number;
}
