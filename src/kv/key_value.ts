/**
 * The interface of key-value stores: small records under keys, which all processes with the same
 * store share. A write consists of checks and mutations, which take effect together or not at all.
 * No operation adds to a counter, because the counter could overflow silently: the caller reads,
 * checks and sets it. A mistake in the calling code causes a plain Error. If the store does not
 * respond, a call rejects with a {@link StoreError}, which the client receives as a 503
 * `store-unavailable`.
 */
export interface KeyValue {
  /** Reads one key. */
  get(key: KeyValueKey): Promise<KeyValueEntry>;
  /** Reads any number of keys, ten keys in each snapshot. */
  getMany(keys: readonly KeyValueKey[]): Promise<readonly KeyValueEntry[]>;
  /** Reads one page of the entries below a prefix, in key order. */
  list(page: KeyValuePage): Promise<readonly KeyValueEntry[]>;
  /** Carries out all mutations if every check succeeds, and none otherwise. */
  commit(commit: KeyValueCommit): Promise<KeyValueCommitResult>;
  /** Closes the store, which then refuses calls. A second call has no effect. */
  close(): Promise<void>;
}

/**
 * A key of a key-value store. Keys are sorted by their parts: bytes, then strings by code point,
 * integers (bigint), numbers, false, true. A key precedes the keys that begin with it.
 */
export type KeyValueKey = readonly KeyValueKeyPart[];

/** One part of a {@link KeyValueKey}. A string has no lone surrogate, and a number is not NaN. */
export type KeyValueKeyPart = Uint8Array | string | bigint | number | boolean;

/** An entry of a key-value store: a key and its value at one point in time. */
export interface KeyValueEntry {
  /** The key. */
  readonly key: KeyValueKey;
  /** The value. Undefined if the record is missing or has expired. */
  readonly value: unknown;
  /** The record's version. Null if there is no record; an expired record can have a version. */
  readonly versionstamp: string | null;
}

/** Selects the entries to list. */
export interface KeyValuePage {
  /** The parts with which all listed keys begin. A key that equals the prefix is not listed. */
  readonly prefix: KeyValueKey;
  /** The last key of the previous page, after which this page continues. */
  readonly after?: KeyValueKey | undefined;
  /** Maximum number of entries, 1 to 1,000. A page with fewer entries is the last. */
  readonly limit: number;
  /** True to list the last key first. */
  readonly reverse?: boolean | undefined;
}

/** A write to a key-value store: checks and mutations. */
export interface KeyValueCommit {
  /** The checks, at most ten, which is the smallest limit of the supported stores. */
  readonly checks?: readonly KeyValueCheck[] | undefined;
  /** The mutations in order, at most 1,000. */
  readonly mutations: readonly KeyValueMutation[];
  /**
   * The key of a record that this commit sets. If the acknowledgement is lost, the store reads the
   * record to find out if the commit happened. Other commits must not overwrite the record, for
   * example because each commit checks that the record does not exist.
   */
  readonly claim?: KeyValueKey | undefined;
  /**
   * True if a {@link StoreError} makes the claim void. If the record is written after all, the
   * store ignores and removes it. Only for commits that do nothing but create a claim. A store that
   * always responds can ignore the option.
   */
  readonly isProvisional?: boolean | undefined;
}

/** A condition of a {@link KeyValueCommit}: the key has this versionstamp; null for no record. */
export interface KeyValueCheck {
  /** The key to check. */
  readonly key: KeyValueKey;
  /** The versionstamp from a {@link KeyValueEntry} or a {@link KeyValueCommitResult}. */
  readonly versionstamp: string | null;
}

/** One change of a {@link KeyValueCommit}. */
export type KeyValueMutation =
  | {
    readonly kind: "set";
    readonly key: KeyValueKey;
    /** Any value except undefined that can be cloned, with at most 65,000 serialized bytes. */
    readonly value: unknown;
    readonly expireInMs?: number | undefined;
    /**
     * The client to which the record belongs. Records with a `share` use only a part of a limited
     * store. If this part is full, the store drops the oldest record of the client with most bytes.
     */
    readonly share?: string | undefined;
    /** True for records that may use an extra part of the space, which other records cannot use. */
    readonly isReserved?: boolean | undefined;
  }
  | { readonly kind: "delete"; readonly key: KeyValueKey };

/** The result of a {@link KeyValueCommit}. `ok` is true if all checks succeeded. */
export type KeyValueCommitResult = { readonly ok: true; readonly versionstamp: string } | {
  readonly ok: false;
};

export interface KeyClaim {
  revoke(): Promise<void>;
}

/** Claims a key for some time. Returns null if a caller in any process already has the claim. */
export async function claimKey(
  store: KeyValue,
  key: KeyValueKey,
  expireInMs: number,
): Promise<KeyClaim | null> {
  const result = await store.commit({
    checks: [{ key, versionstamp: null }],
    mutations: [{ kind: "set", key, value: true, expireInMs, isReserved: true }],
    claim: key,
    isProvisional: true,
  });
  if (!result.ok) return null;
  const { versionstamp } = result;
  return {
    async revoke() {
      // With this check, a repeated delete cannot remove a later claim of the key.
      const checks = [{ key, versionstamp }];
      await store.commit({ checks, mutations: [{ kind: "delete", key }] });
    },
  };
}
