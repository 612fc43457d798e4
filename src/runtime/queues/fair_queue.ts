/** How many may wait. */
export interface FairQueueOptions {
  /** Together; half of them may be of one identity. */
  readonly maxWaiting: number;
}

/**
 * A bounded queue in which the identities take turns, so that what one of them sends waits for its
 * own, and not in front of the others.
 */
export class FairQueue<Item> {
  readonly #maxWaiting: number;
  /** By identity; the one that waits for its turn longest comes first. */
  readonly #waiting = new Map<string, Set<Item>>();
  #size = 0;

  /** Empty. */
  constructor({ maxWaiting }: FairQueueOptions) {
    this.#maxWaiting = maxWaiting;
  }

  /** How many wait. */
  get size(): number {
    return this.#size;
  }

  /** Adds one of an identity; false where too many wait. */
  add(identity: string, item: Item): boolean {
    const ofIdentity = this.#waiting.get(identity) ?? new Set<Item>();
    if (this.#size >= this.#maxWaiting || ofIdentity.size >= this.#maxWaiting / 2) return false;
    this.#waiting.set(identity, ofIdentity.add(item));
    this.#size++;
    return true;
  }

  /** Removes one that waits; one that does not is no error. */
  remove(identity: string, item: Item): void {
    const ofIdentity = this.#waiting.get(identity);
    if (ofIdentity?.delete(item) !== true) return;
    this.#size--;
    if (ofIdentity.size === 0) this.#waiting.delete(identity);
  }

  /**
   * Takes the next, whose identity then comes after all others; undefined if there is none. The
   * identities whose first one `mayGo` refuses are passed over.
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
