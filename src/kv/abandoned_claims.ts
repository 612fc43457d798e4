/**
 * The claims that were abandoned: their requests were refused because the key-value store did not
 * answer. The store may still carry them out, and later: this process ignores the records that they
 * leave, and removes them for the other processes, so that the same request can be sent again.
 */
export class AbandonedClaims {
  readonly #ids = new Set<string>();
  #open = 0;
  #onEmpty: (() => void) | null = null;

  /** Returns true if a record with this id is to be ignored. */
  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /**
   * Ignores the id from now on. Once `sent` has resolved or rejected, which is after the outage,
   * `remove` deletes its record.
   */
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

  /** Runs `work` once none of them can leave a record any more. */
  onceEmpty(work: () => void): void {
    if (this.#open === 0) work();
    else this.#onEmpty = work;
  }
}

/** By contract a record that cannot be removed stays until it expires; this process ignores it. */
function keepIgnoring(): void {}
