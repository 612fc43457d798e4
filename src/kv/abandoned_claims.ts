/**
 * Claims that were abandoned: their requests were refused because the key-value store did not
 * respond. The store may still carry them out later. This process ignores the records of such
 * claims, and removes them for other processes, so that the request can be sent again.
 */
export class AbandonedClaims {
  readonly #ids = new Set<string>();
  #open = 0;
  #onEmpty: (() => void) | null = null;

  /** Returns true if a record with this id must be ignored. */
  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /**
   * Ignores an id. Once `sent` has resolved or rejected, which is after the outage, `remove`
   * deletes its record.
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

  /** Runs `work` once no abandoned claim can leave a record any more. */
  onceEmpty(work: () => void): void {
    if (this.#open === 0) work();
    else this.#onEmpty = work;
  }
}

/** By contract a record that cannot be removed stays until its expiry; this process ignores it. */
function keepIgnoring(): void {}
