/** A bounded queue. Identities (users or addresses) take turns, however many items each has. */
export class FairQueue<Item> {
  readonly #maxWaiting: number;
  /** The waiting items by identity. The identity that was served least recently comes first. */
  readonly #waiting = new Map<string, Set<Item>>();
  #size = 0;

  constructor({ maxWaiting }: {
    /** The maximum number of waiting items. Half of them can belong to one identity. */
    readonly maxWaiting: number;
  }) {
    this.#maxWaiting = maxWaiting;
  }

  get size(): number {
    return this.#size;
  }

  sizeOf(identity: string): number {
    return this.#waiting.get(identity)?.size ?? 0;
  }

  add(identity: string, item: Item): boolean {
    const ofIdentity = this.#waiting.get(identity) ?? new Set<Item>();
    if (this.#size >= this.#maxWaiting || ofIdentity.size >= this.#maxWaiting / 2) return false;
    this.#waiting.set(identity, ofIdentity.add(item));
    this.#size++;
    return true;
  }

  remove(identity: string, item: Item): void {
    const ofIdentity = this.#waiting.get(identity);
    if (ofIdentity?.delete(item) !== true) return;
    this.#size--;
    if (ofIdentity.size === 0) this.#waiting.delete(identity);
  }

  /** Takes an item. Puts its identity last. Skips identities whose first item `mayGo` rejects. */
  take(mayGo: (item: Item) => boolean = () => true): Item | undefined {
    for (const [identity, ofIdentity] of this.#waiting) {
      const [first] = ofIdentity;
      if (first === undefined || !mayGo(first)) continue;
      this.remove(identity, first);
      if (this.#waiting.delete(identity)) this.#waiting.set(identity, ofIdentity);
      return first;
    }
    return undefined;
  }
}
