export interface GroupMemoryLimits {
  readonly perAggregate: number;
  readonly perIdentity: number;
  readonly inAll: number;
}

export interface GroupHolder {
  readonly identity: string;
  dropGroups(): void;
}

/** Memory shared by live aggregates. When it is full, the largest aggregate loses its groups. */
export class GroupMemory {
  readonly #limits: GroupMemoryLimits;
  readonly #held = new Map<GroupHolder, HeldGroups>();
  /** Bytes by user or IP address. The key null has the sum of all. */
  readonly #sums = new Map<string | null, number>();

  constructor(limits: GroupMemoryLimits) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#sumOf(null);
  }

  hasRoom({ identity }: GroupHolder, bytes: number): boolean {
    const { perAggregate, perIdentity, inAll } = this.#limits;
    return bytes <= perAggregate && this.#sumOf(null) + bytes <= inAll &&
      this.#sumOf(identity) + bytes <= perIdentity;
  }

  hold(holder: GroupHolder, bytes: number): boolean {
    this.release(holder);
    const { perAggregate, perIdentity, inAll } = this.#limits;
    const { identity } = holder;
    if (bytes > perAggregate || !this.#makeRoom(identity, perIdentity, bytes)) return false;
    if (!this.#makeRoom(null, inAll, bytes)) return false;
    this.#held.set(holder, { identity, bytes });
    this.#add(identity, bytes);
    return true;
  }

  release(holder: GroupHolder): void {
    const held = this.#held.get(holder);
    if (held === undefined) return;
    this.#held.delete(holder);
    this.#add(held.identity, -held.bytes);
  }

  #sumOf(identity: string | null): number {
    return this.#sums.get(identity) ?? 0;
  }

  #add(identity: string, bytes: number): void {
    for (const key of [identity, null]) {
      const sum = this.#sumOf(key) + bytes;
      if (sum === 0) this.#sums.delete(key);
      else this.#sums.set(key, sum);
    }
  }

  #makeRoom(identity: string | null, limit: number, bytes: number): boolean {
    while (this.#sumOf(identity) + bytes > limit) {
      let largest: readonly [GroupHolder, HeldGroups] | null = null;
      for (const one of this.#held) {
        const counts = identity === null || one[1].identity === identity;
        if (counts && one[1].bytes > (largest?.[1].bytes ?? bytes)) largest = one;
      }
      if (largest === null) return false;
      this.release(largest[0]);
      largest[0].dropGroups();
    }
    return true;
  }
}

interface HeldGroups {
  readonly identity: string;
  readonly bytes: number;
}
