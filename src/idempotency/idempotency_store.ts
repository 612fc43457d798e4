/**
 * The interface of idempotency stores, which keep the responses to requests that may be repeated.
 * One request at a time holds the claim on a key. A claim that is not renewed expires, so a
 * terminated process does not hold the key. Every method rejects with a {@link StoreError} if the
 * store fails.
 */
export interface IdempotencyStore {
  /** Claims a key. Returns the stored record if another request has this key or has finished. */
  claim(claim: IdempotencyClaim): Promise<ClaimResult>;
  /** Returns what {@link claim} would find, without claiming. Null if the claim would succeed. */
  find(claim: IdempotencyClaim): Promise<FoundKeyRecord | null>;
  /** Extends a claim by {@link idempotencyLeaseMs}. Has no effect if the claim is lost. */
  renew(claim: IdempotencyClaim): Promise<void>;
  /** Stores the response to a request. Has no effect if the claim is lost. */
  finish(claim: IdempotencyClaim, answer: StoredResponse): Promise<void>;
  /** Releases a claim, so another request can use the key. Has no effect after `finish`. */
  release(claim: IdempotencyClaim): Promise<void>;
}

/** Duration of a claim without renewal, in milliseconds. Renewals are three times as frequent. */
export const idempotencyLeaseMs = 30_000;

export interface IdempotencyClaim {
  /** Identifies the key, the caller and the path by a string of 43 characters. */
  readonly id: string;
  /** Identifies the content of the request. Different requests have different fingerprints. */
  readonly fingerprint: string;
  /** Identifies this claim among all claims on the key. */
  readonly owner: string;
  /** Names the client whose storage share the response uses. Absent for no share. */
  readonly share?: string | undefined;
}

/** The result of claiming a key. The fingerprint belongs to the first request with the key. */
export type ClaimResult = { readonly kind: "claimed" } | FoundKeyRecord;

export type FoundKeyRecord =
  | { readonly kind: "in-flight"; readonly fingerprint: string }
  | {
    readonly kind: "finished";
    readonly fingerprint: string;
    /** The stored response, or null if the store has deleted it to make room. */
    readonly answer: StoredAnswer | null;
  };

/** The part of a response that a store keeps to replay the response. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface StoredResponse {
  readonly answer: StoredAnswer;
  readonly keepMs: number;
}
