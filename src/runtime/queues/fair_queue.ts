export interface FairQueueOptions {
  /** The maximum number of waiting items. Half of them can belong to one identity. */
  readonly maxWaiting: number;
}

/**
 * A bounded queue in which the identities (users or addresses) take turns. An item waits for
 * earlier items of its own identity, but the number of these items does not delay other identities.
 */
export class FairQueue<Item> {
  readonly #maxWaiting: number;
  /** The waiting items by identity. The identity that was served least recently comes first. */
  readonly #waiting = new Map<string, Set<Item>>();
  #size = 0;

  constructor({ maxWaiting }: FairQueueOptions) {
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

  /** Removes a waiting item. Has no effect if the item is not waiting. */
  remove(identity: string, item: Item): void {
    const ofIdentity = this.#waiting.get(identity);
    if (ofIdentity?.delete(item) !== true) return;
    this.#size--;
    if (ofIdentity.size === 0) this.#waiting.delete(identity);
  }

  /**
   * Takes the next item, or returns undefined if there is none. After that, the item's identity
   * comes last. Skips an identity if `mayGo` returns false for its first item.
   */
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
