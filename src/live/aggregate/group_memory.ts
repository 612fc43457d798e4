/** Limits of the memory for the groups of live aggregates, in bytes. */
export interface GroupMemoryLimits {
  readonly perAggregate: number;
  /** Limit for the aggregates of one user or address. */
  readonly perIdentity: number;
  readonly inAll: number;
}

export interface GroupHolder {
  /** The user or the address to which the bytes are attributed. */
  readonly identity: string;
  /** Drops the groups, because other aggregates need the memory. */
  dropGroups(): void;
}

/**
 * The memory that the groups of all live aggregates of an app share. Small aggregates have
 * priority. When the memory is full, the aggregate with the most bytes loses its groups. That
 * aggregate is then queried at each change.
 */
export class GroupMemory {
  readonly #limits: GroupMemoryLimits;
  readonly #inAll = new Account();
  readonly #byIdentity = new Map<string, Account>();
  readonly #identities = new Map<GroupHolder, string>();

  constructor(limits: GroupMemoryLimits) {
    this.#limits = limits;
  }

  /** Size of all held groups in bytes. */
  get bytes(): number {
    return this.#inAll.bytes;
  }

  /** Returns true if the memory has room for this many additional bytes of a holder. */
  hasRoom({ identity }: GroupHolder, bytes: number): boolean {
    const { perAggregate, perIdentity, inAll } = this.#limits;
    return bytes <= perAggregate && this.#inAll.bytes + bytes <= inAll &&
      (this.#byIdentity.get(identity)?.bytes ?? 0) + bytes <= perIdentity;
  }

  /** Assigns bytes to a holder. Returns false if there is no room. The holder then has no bytes. */
  hold(holder: GroupHolder, bytes: number): boolean {
    this.release(holder);
    const { perAggregate, perIdentity, inAll } = this.#limits;
    if (bytes > perAggregate) return false;
    const { identity } = holder;
    if (!this.#makeRoom(this.#accountOf(identity), perIdentity - bytes, bytes)) return false;
    if (!this.#makeRoom(this.#inAll, inAll - bytes, bytes)) return false;
    this.#inAll.add(holder, bytes);
    // Dropping groups may have removed the account of this identity, so the account is looked up
    // again.
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

  /** Drops groups of larger holders. Returns false if the requesting holder is the largest. */
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
