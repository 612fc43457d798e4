/** The most bytes that the groups of live aggregates may take in the memory of the process. */
export interface GroupMemoryLimits {
  readonly perAggregate: number;
  /** For the aggregates of one user, or of one address. */
  readonly perIdentity: number;
  readonly inAll: number;
}

/** A live aggregate that keeps its groups in memory. */
export interface GroupHolder {
  /** The user or the address that its bytes count for. */
  readonly identity: string;
  /** Called when others need the memory: the groups are to be dropped. */
  dropGroups(): void;
}

/**
 * The memory that the groups of all live aggregates of an app share. It is given to the small ones
 * first: where it is full, the aggregate with the most bytes loses its groups, and is queried again
 * at each change from then on.
 */
export class GroupMemory {
  readonly #limits: GroupMemoryLimits;
  readonly #inAll = new Account();
  readonly #byIdentity = new Map<string, Account>();
  readonly #identities = new Map<GroupHolder, string>();

  /** Begins empty. */
  constructor(limits: GroupMemoryLimits) {
    this.#limits = limits;
  }

  /** The bytes of all groups that are held. */
  get bytes(): number {
    return this.#inAll.bytes;
  }

  /** Returns true if a holder could hold so many bytes beside all that is held now. */
  hasRoom({ identity }: GroupHolder, bytes: number): boolean {
    const { perAggregate, perIdentity, inAll } = this.#limits;
    return bytes <= perAggregate && this.#inAll.bytes + bytes <= inAll &&
      (this.#byIdentity.get(identity)?.bytes ?? 0) + bytes <= perIdentity;
  }

  /** A holder holds so many bytes from now on; false where it may not, and then it holds none. */
  hold(holder: GroupHolder, bytes: number): boolean {
    this.release(holder);
    const { perAggregate, perIdentity, inAll } = this.#limits;
    if (bytes > perAggregate) return false;
    const { identity } = holder;
    if (!this.#makeRoom(this.#accountOf(identity), perIdentity - bytes, bytes)) return false;
    if (!this.#makeRoom(this.#inAll, inAll - bytes, bytes)) return false;
    this.#inAll.add(holder, bytes);
    // The account was closed where the room was made by its last holder.
    const account = this.#accountOf(identity);
    account.add(holder, bytes);
    this.#byIdentity.set(identity, account);
    this.#identities.set(holder, identity);
    return true;
  }

  /** A holder holds nothing any more. */
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

  /** Takes groups from larger holders; false where the one that needs the room is the largest. */
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

/** The bytes of some holders, and their sum. */
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
