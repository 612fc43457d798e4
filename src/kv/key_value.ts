/**
 * A store of small records under keys, shared by all processes that open the same one. A write is a
 * value: checks and mutations that take effect together or not at all. There is no sum: it wraps
 * around instead of refusing, so that whoever counts reads, checks and sets.
 *
 * Whatever a caller does wrong is a plain Error; a store that does not answer is a
 * {@link StoreError}, which the caller of the service sees as a 503 `store-unavailable`.
 */
export interface KeyValue {
  /** What stands under the key now. */
  get(key: KeyValueKey): Promise<KeyValueEntry>;
  /** What stands under each of these keys; up to ten keys are of one moment. */
  getMany(keys: readonly KeyValueKey[]): Promise<readonly KeyValueEntry[]>;
  /** One page of what stands below a prefix, in the order of the keys. */
  list(page: KeyValuePage): Promise<readonly KeyValueEntry[]>;
  /** Does all the mutations if every check holds, else none of them. */
  commit(commit: KeyValueCommit): Promise<KeyValueCommitResult>;
  /** Lets go of the store; whoever asks afterwards is refused. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Parts order as bytes, text by code points, integers (bigint), numbers, false, true; a key comes
 * before those that go on behind it.
 */
export type KeyValueKey = readonly KeyValueKeyPart[];

/** One part of a {@link KeyValueKey}. A text holds no lone surrogate, a number is not NaN. */
export type KeyValueKeyPart = Uint8Array | string | bigint | number | boolean;

/** What stands under a key at one moment. */
export interface KeyValueEntry {
  /** Where it stands. */
  readonly key: KeyValueKey;
  /** Undefined where there is nothing, or what there was has expired. */
  readonly value: unknown;
  /**
   * Names this state of the key, for a {@link KeyValueCheck}. Opaque: to be compared with nothing.
   * Null only where there is nothing, but not everywhere there: a record that has expired may still
   * have one.
   */
  readonly versionstamp: string | null;
}

/** Which part of a prefix to list. */
export interface KeyValuePage {
  /** The parts that all keys begin with; a key of only these is not among them. */
  readonly prefix: KeyValueKey;
  /** Goes on behind this key of the page before, in the direction of the list. */
  readonly after?: KeyValueKey | undefined;
  /** From 1 to 1,000. Fewer entries mean that there are no more. */
  readonly limit: number;
  /** The last key first. */
  readonly reverse?: boolean | undefined;
}

/** A write, as a value. */
export interface KeyValueCommit {
  /** At most ten: what the smallest store takes. */
  readonly checks?: readonly KeyValueCheck[] | undefined;
  /** At most 1,000, done in this order. */
  readonly mutations: readonly KeyValueMutation[];
  /**
   * The key of one of the sets, which then proves that it was done: where the acknowledgement is
   * lost, the store looks whether the record is this commit's own. Exact where nobody else
   * overwrites that key, as under a check that nothing stood there.
   */
  readonly claim?: KeyValueKey | undefined;
  /**
   * The claim is of no use to anybody once its caller was refused with a {@link StoreError}: where
   * it was made all the same, or is made later, it counts for nothing, and is removed. For a commit
   * that does nothing but claim. A store that is never left without an answer has nothing to do.
   */
  readonly isProvisional?: boolean | undefined;
}

/** Holds while the key is in the state that this versionstamp names; null: nothing stands there. */
export interface KeyValueCheck {
  /** The key that is looked at. */
  readonly key: KeyValueKey;
  /** From a {@link KeyValueEntry} or a {@link KeyValueCommitResult}. */
  readonly versionstamp: string | null;
}

/** One change of a {@link KeyValueCommit}. */
export type KeyValueMutation =
  | {
    readonly kind: "set";
    readonly key: KeyValueKey;
    /** Whatever can be cloned but undefined; at most 65,000 bytes once it is serialized. */
    readonly value: unknown;
    /** After so many milliseconds nobody sees the record any more. */
    readonly expireInMs?: number | undefined;
  }
  | { readonly kind: "delete"; readonly key: KeyValueKey };

/** Whether the checks held and the mutations are done. */
export type KeyValueCommitResult =
  | { readonly ok: true; readonly versionstamp: string }
  | { readonly ok: false };
