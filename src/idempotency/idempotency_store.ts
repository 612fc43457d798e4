/**
 * Only one request at a time has the claim on a key. A claim expires unless it is renewed; calls
 * with an expired claim do nothing. If the store fails, calls reject with a {@link StoreError}.
 */
export interface IdempotencyStore {
  claim(claim: IdempotencyClaim): Promise<KeyClaimResult>;
  find(claim: IdempotencyClaim): Promise<FoundKeyRecord | null>;
  renew(claim: IdempotencyClaim): Promise<void>;
  finish(claim: IdempotencyClaim, answer: StoredResponse): Promise<void>;
  release(claim: IdempotencyClaim): Promise<void>;
}

/** How long a claim lasts without renewal, in ms. Claims are renewed after a third of this time. */
export const idempotencyLeaseMs = 30_000;

export interface IdempotencyClaim {
  readonly id: string;
  readonly fingerprint: string;
  readonly owner: string;
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
