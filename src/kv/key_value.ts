/**
 * The interface of key-value stores: small records under keys, shared by all processes that open
 * the store. A write is a value: checks and mutations that take effect together or not at all.
 * There is no sum operation, because it would overflow without an error: a counter is read, checked
 * and set.
 *
 * An error of the calling code is a plain Error. A store that does not respond is a {@link
 * StoreError}, which the client receives as a 503 `store-unavailable`.
 */
export interface KeyValue {
  /** Reads one key. */
  get(key: KeyValueKey): Promise<KeyValueEntry>;
  /** Reads several keys. Up to ten keys are read as one snapshot. */
  getMany(keys: readonly KeyValueKey[]): Promise<readonly KeyValueEntry[]>;
  /** Reads one page of the entries below a prefix, in the order of the keys. */
  list(page: KeyValuePage): Promise<readonly KeyValueEntry[]>;
  /** Carries out all mutations if every check succeeds. Otherwise carries out none. */
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
  /**
   * Identifies this version of the record, for a {@link KeyValueCheck}. The string is opaque. Null
   * if the key has no record. An expired record may still have a versionstamp.
   */
  readonly versionstamp: string | null;
}

/** The page of entries to list from a key-value store. */
export interface KeyValuePage {
  /** The parts with which all keys begin. The key that equals the prefix is not listed. */
  readonly prefix: KeyValueKey;
  /** The last key of the previous page. The page continues after it in the list's direction. */
  readonly after?: KeyValueKey | undefined;
  /** The maximum number of entries, 1 to 1,000. Fewer entries mean that the list has ended. */
  readonly limit: number;
  /** True to list the last key first. */
  readonly reverse?: boolean | undefined;
}

/** A write to a key-value store, as plain data. */
export interface KeyValueCommit {
  /** The checks. At most ten, the limit of the smallest store. */
  readonly checks?: readonly KeyValueCheck[] | undefined;
  /** The mutations, which are carried out in this order. At most 1,000. */
  readonly mutations: readonly KeyValueMutation[];
  /**
   * The key of a record that this commit sets, and that proves the commit. If the acknowledgement
   * is lost, the store reads whether the record belongs to this commit. The result is exact if no
   * other commit overwrites the key, for instance if each commit checks that there is no record.
   */
  readonly claim?: KeyValueKey | undefined;
  /**
   * True if the claim is void after this commit was refused with a {@link StoreError}. If the store
   * carries the commit out nevertheless, the record is ignored and removed. The option is for
   * commits that only claim. A store that always responds can ignore this option.
   */
  readonly isProvisional?: boolean | undefined;
}

/**
 * A check of a {@link KeyValueCommit}. It succeeds if the key's record has this versionstamp. Null
 * requires that there is no record.
 */
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
    /** Any value except undefined that can be cloned. At most 65,000 bytes when serialized. */
    readonly value: unknown;
    /** The lifetime of the record, in milliseconds. */
    readonly expireInMs?: number | undefined;
    /**
     * Name of the client whose record this is. A store of limited size reserves a part of its space
     * for such records. To make room, the store drops the oldest record of the client with the most
     * bytes.
     */
    readonly share?: string | undefined;
    /** True for records that may use additional space, which other records cannot use. */
    readonly isReserved?: boolean | undefined;
  }
  | { readonly kind: "delete"; readonly key: KeyValueKey };

/**
 * The result of a {@link KeyValueCommit}. True if all checks succeeded and everything was written.
 */
export type KeyValueCommitResult =
  | { readonly ok: true; readonly versionstamp: string }
  | { readonly ok: false };
