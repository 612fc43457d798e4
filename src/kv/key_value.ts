/**
 * The interface of key-value stores: small records under keys, shared by all processes that open
 * the same store. A write is a value: checks and mutations that take effect together or not at all.
 * There is no sum, because it wraps around instead of failing: a counter is read, checked and set.
 *
 * A mistake of the calling code is a plain Error; a store that does not answer is a
 * {@link StoreError}, which the client receives as a 503 `store-unavailable`.
 */
export interface KeyValue {
  /** Reads one key. */
  get(key: KeyValueKey): Promise<KeyValueEntry>;
  /** Reads several keys; up to ten of them at one moment. */
  getMany(keys: readonly KeyValueKey[]): Promise<readonly KeyValueEntry[]>;
  /** Reads one page of the entries below a prefix, in the order of the keys. */
  list(page: KeyValuePage): Promise<readonly KeyValueEntry[]>;
  /** Carries out all mutations if every check holds, else none of them. */
  commit(commit: KeyValueCommit): Promise<KeyValueCommitResult>;
  /** Releases the store; later calls are refused. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * A key of a key-value store: its parts order as bytes, text by code points, integers (bigint),
 * numbers, false, true; a key comes before the keys that begin with it.
 */
export type KeyValueKey = readonly KeyValueKeyPart[];

/** One part of a {@link KeyValueKey}. A string holds no lone surrogate, a number is not NaN. */
export type KeyValueKeyPart = Uint8Array | string | bigint | number | boolean;

/** An entry of a key-value store: a key and its value at one moment. */
export interface KeyValueEntry {
  /** The key. */
  readonly key: KeyValueKey;
  /** Undefined if there is no record, or it has expired. */
  readonly value: unknown;
  /**
   * Identifies this state of the key, for a {@link KeyValueCheck}. Opaque. Null means that there is
   * no record, but a record that has expired may still have one.
   */
  readonly versionstamp: string | null;
}

/** The page of entries to list from a key-value store. */
export interface KeyValuePage {
  /** The parts that all keys begin with; the key of exactly these parts is not listed. */
  readonly prefix: KeyValueKey;
  /** Continues after this key of the page before, in the direction of the list. */
  readonly after?: KeyValueKey | undefined;
  /** From 1 to 1,000. Fewer entries mean that there are no more. */
  readonly limit: number;
  /** The last key first. */
  readonly reverse?: boolean | undefined;
}

/** A write to a key-value store, as a value. */
export interface KeyValueCommit {
  /** At most ten, the limit of the smallest store. */
  readonly checks?: readonly KeyValueCheck[] | undefined;
  /** At most 1,000, carried out in this order. */
  readonly mutations: readonly KeyValueMutation[];
  /**
   * The key of one of the sets, whose record then proves the commit: where the acknowledgement is
   * lost, the store reads whether the record is this commit's own. Exact where no other commit
   * overwrites that key, as under a check that there is no record.
   */
  readonly claim?: KeyValueKey | undefined;
  /**
   * The claim is void once this commit was refused with a {@link StoreError}: if the store carried
   * it out all the same, or does so later, the record is ignored and removed. For a commit that only
   * claims. A store that always answers has nothing to do.
   */
  readonly isProvisional?: boolean | undefined;
}

/**
 * A check of a {@link KeyValueCommit}: holds while the key is in the state of this versionstamp;
 * null: there is no record.
 */
export interface KeyValueCheck {
  /** The key to check. */
  readonly key: KeyValueKey;
  /** From a {@link KeyValueEntry} or a {@link KeyValueCommitResult}. */
  readonly versionstamp: string | null;
}

/** One change of a {@link KeyValueCommit}. */
export type KeyValueMutation =
  | {
    readonly kind: "set";
    readonly key: KeyValueKey;
    /** Any value that can be cloned, except undefined; at most 65,000 bytes when serialized. */
    readonly value: unknown;
    /** After so many milliseconds the record is no longer read. */
    readonly expireInMs?: number | undefined;
    /**
     * Names the client that fills the store with this record. A store of limited size gives such
     * records a part of its room, and drops the oldest of the largest share to make more.
     */
    readonly share?: string | undefined;
    /** A store of limited size has further room for these, which no other record takes. */
    readonly isReserved?: boolean | undefined;
  }
  | { readonly kind: "delete"; readonly key: KeyValueKey };

/**
 * The result of a {@link KeyValueCommit}: whether the checks held and the mutations were carried
 * out.
 */
export type KeyValueCommitResult =
  | { readonly ok: true; readonly versionstamp: string }
  | { readonly ok: false };
