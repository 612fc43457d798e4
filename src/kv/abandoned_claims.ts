/**
 * Claims of keys in the key-value store, whose requests were refused because the store did not
 * respond. The store may still write the records of these claims later. This process ignores such
 * records, and removes them for other processes, so that the requests can be sent again.
 */
export class AbandonedClaims {
  readonly #ids = new Set<string>();
  #open = 0;
  #onEmpty: (() => void) | null = null;

  /** Returns true if a record with this id must be ignored. */
  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Ignores a record. Once `sent` has resolved or rejected, `remove` deletes the record. */
  add(id: string, sent: Promise<unknown>, remove: () => Promise<void>): void {
    this.#ids.add(id);
    this.#open++;
    const cleanUp = async () => {
      await remove().then(() => this.#ids.delete(id), keepIgnoring);
      this.#open--;
      if (this.#open === 0) this.#onEmpty?.();
    };
    sent.then(cleanUp, cleanUp);
  }

  /** Runs `work` once no abandoned claim can write a record any more. */
  onceEmpty(work: () => void): void {
    if (this.#open === 0) work();
    else this.#onEmpty = work;
  }
}

/** A record that cannot be removed stays until its expiry, and this process ignores the record. */
function keepIgnoring(): void {}
