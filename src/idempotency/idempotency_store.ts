/**
 * Only one request at a time has the claim on a key. A claim that is not renewed expires, in case
 * its process has ended. If the store fails, all methods reject with a {@link StoreError}.
 */
export interface IdempotencyStore {
  /** Claims a key. Returns the stored record if another request has the key, or has had it. */
  claim(claim: IdempotencyClaim): Promise<KeyClaimResult>;
  /** Returns the record that {@link claim} would find, without claiming; null if there is none. */
  find(claim: IdempotencyClaim): Promise<FoundKeyRecord | null>;
  /** Extends a claim by {@link idempotencyLeaseMs}. Does nothing if the claim was lost. */
  renew(claim: IdempotencyClaim): Promise<void>;
  /** Stores the response to a request. Does nothing if the claim was lost. */
  finish(claim: IdempotencyClaim, answer: StoredResponse): Promise<void>;
  /** Releases a claim, so that other requests can use the key. Does nothing after `finish`. */
  release(claim: IdempotencyClaim): Promise<void>;
}

/** How long a claim lasts without renewal, in ms. Claims are renewed after a third of this time. */
export const idempotencyLeaseMs = 30_000;

export interface IdempotencyClaim {
  readonly id: string;
  /** The hash of the request's content. A repeated request must have the same hash. */
  readonly fingerprint: string;
  readonly owner: string;
  /** The client whose storage limit the response counts against; absent if no limit applies. */
  readonly share?: string | undefined;
}

export type KeyClaimResult = { readonly kind: "claimed" } | FoundKeyRecord;

export type FoundKeyRecord =
  | { readonly kind: "in-flight"; readonly fingerprint: string }
  | {
    readonly kind: "finished";
    readonly fingerprint: string;
    /** The stored response; null if the store has deleted it to make room. */
    readonly answer: StoredAnswer | null;
  };

export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface StoredResponse {
  readonly answer: StoredAnswer;
  readonly keepMs: number;
}
