/** Limits of the memory that live aggregates use for their groups, in bytes. */
export interface GroupMemoryLimits {
  readonly perAggregate: number;
  /** Limit for all aggregates together that one user or IP address has opened. */
  readonly perIdentity: number;
  readonly inAll: number;
}

export interface GroupHolder {
  /** The user or IP address whose limit the bytes count against. */
  readonly identity: string;
  /** Frees the memory of the groups, because other aggregates need it. */
  dropGroups(): void;
}

/**
 * The memory that the groups of all live aggregates of an app share. Small aggregates have
 * priority: when the memory is full, the aggregate with the most bytes loses its groups. The
 * database then computes that aggregate again after each change.
 */
export class GroupMemory {
  readonly #limits: GroupMemoryLimits;
  readonly #inAll = new Account();
  readonly #byIdentity = new Map<string, Account>();
  readonly #identities = new Map<GroupHolder, string>();

  constructor(limits: GroupMemoryLimits) {
    this.#limits = limits;
  }

  /** Size in bytes of all groups in memory. */
  get bytes(): number {
    return this.#inAll.bytes;
  }

  /** Returns true if an aggregate can use this many additional bytes within all limits. */
  hasRoom({ identity }: GroupHolder, bytes: number): boolean {
    const { perAggregate, perIdentity, inAll } = this.#limits;
    return bytes <= perAggregate && this.#inAll.bytes + bytes <= inAll &&
      (this.#byIdentity.get(identity)?.bytes ?? 0) + bytes <= perIdentity;
  }

  /** Reserves bytes for an aggregate, in place of its earlier ones. Returns false without room. */
  hold(holder: GroupHolder, bytes: number): boolean {
    this.release(holder);
    const { perAggregate, perIdentity, inAll } = this.#limits;
    if (bytes > perAggregate) return false;
    const { identity } = holder;
    if (!this.#makeRoom(this.#accountOf(identity), perIdentity - bytes, bytes)) return false;
    if (!this.#makeRoom(this.#inAll, inAll - bytes, bytes)) return false;
    this.#inAll.add(holder, bytes);
    // `#makeRoom` may have deleted the account of this identity, so the account is looked up again.
    const account = this.#accountOf(identity);
    account.add(holder, bytes);
    this.#byIdentity.set(identity, account);
    this.#identities.set(holder, identity);
    return true;
  }

  release(holder: GroupHolder): void {
    const identity = this.#identities.get(holder);
    if (identity === undefined) return;
    this.#identities.delete(holder);
    this.#inAll.remove(holder);
    const account = this.#accountOf(identity);
    account.remove(holder);
    if (account.bytes === 0) this.#byIdentity.delete(identity);
  }

  #accountOf(identity: string): Account {
    return this.#byIdentity.get(identity) ?? new Account();
  }

  /**
   * Drops groups of larger aggregates until `needed` bytes fit. Returns false if none is larger.
   */
  #makeRoom(account: Account, maxBytes: number, needed: number): boolean {
    while (account.bytes > maxBytes) {
      const largest = account.largest();
      if (largest === null || largest.bytes <= needed) return false;
      this.release(largest.holder);
      largest.holder.dropGroups();
    }
    return maxBytes >= 0;
  }
}

class Account {
  readonly #holders = new Map<GroupHolder, number>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(holder: GroupHolder, bytes: number): void {
    this.#holders.set(holder, bytes);
    this.#bytes += bytes;
  }

  remove(holder: GroupHolder): void {
    this.#bytes -= this.#holders.get(holder) ?? 0;
    this.#holders.delete(holder);
  }

  largest(): { readonly holder: GroupHolder; readonly bytes: number } | null {
    let largest: { readonly holder: GroupHolder; readonly bytes: number } | null = null;
    for (const [holder, bytes] of this.#holders) {
      if (largest === null || bytes > largest.bytes) largest = { holder, bytes };
    }
    return largest;
  }
}
