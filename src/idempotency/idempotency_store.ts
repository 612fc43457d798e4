/**
 * The interface of idempotency stores, which keep the responses to requests that may be repeated.
 * One request at a time holds the claim on a key. A claim that is not renewed expires, so a
 * terminated process does not hold the key. Every method rejects with a {@link StoreError} if the
 * store fails.
 */
export interface IdempotencyStore {
  /** Claims the key, unless another request holds it or has finished. */
  claim(claim: IdempotencyClaim): Promise<ClaimResult>;
  /** Returns the result of {@link claim} without claiming; null if the claim would succeed. */
  find(claim: IdempotencyClaim): Promise<FoundAnswer | null>;
  /** Holds the key for another {@link idempotencyLeaseMs}. Does nothing once the claim is lost. */
  renew(claim: IdempotencyClaim): Promise<void>;
  /** Stores the response for repetitions. Does nothing once the claim is lost. */
  finish(claim: IdempotencyClaim, answer: StoredResponse): Promise<void>;
  /** Frees the key for the next request. Does nothing once there is a response. */
  release(claim: IdempotencyClaim): Promise<void>;
}

/**
 * How long a claim in an idempotency store lasts, in milliseconds. It is three times the interval
 * at which the claim is renewed.
 */
export const idempotencyLeaseMs = 30_000;

/** A request's claim on its key in an idempotency store. */
export interface IdempotencyClaim {
  /** Names the key of one caller at one path: a string of 43 characters. */
  readonly id: string;
  /** Distinguishes a repeated request from another request under the same key. */
  readonly fingerprint: string;
  /** Distinguishes two claims on the same key. */
  readonly owner: string;
  /** Names the client whose share the response counts against. */
  readonly share: string;
}

/**
 * The outcome of a claim in an idempotency store. The fingerprint is the fingerprint of the first
 * request under the key.
 */
export type ClaimResult = { readonly kind: "claimed" } | FoundAnswer;

/** The record under a key that another request has claimed or finished. */
export type FoundAnswer =
  | { readonly kind: "in-flight"; readonly fingerprint: string }
  | {
    readonly kind: "finished";
    readonly fingerprint: string;
    /** The response; null if the store has dropped it to make room. */
    readonly answer: StoredAnswer | null;
  };

/** The part of a response that an idempotency store keeps for replays. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** A response to store, and its retention. */
export interface StoredResponse {
  readonly answer: StoredAnswer;
  readonly keepMs: number;
}
