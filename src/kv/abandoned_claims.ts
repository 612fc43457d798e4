/**
 * Claims whose callers were refused because the store did not answer. They may be carried out all
 * the same, and later: what they leave then counts for nothing in this process, and is removed for
 * the others, so that the same request can be sent again.
 */
export class AbandonedClaims {
  readonly #ids = new Set<string>();
  #open = 0;
  #onEmpty: (() => void) | null = null;

  /** Whether a record with this id counts for nothing. */
  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /**
   * From now on the id counts for nothing. Once `sent` is settled, which is after the outage,
   * `takeBack` removes what it has left.
   */
  add(id: string, sent: Promise<unknown>, takeBack: () => Promise<void>): void {
    this.#ids.add(id);
    this.#open++;
    const settled = async () => {
      await takeBack().then(() => this.#ids.delete(id), stays);
      this.#open--;
      if (this.#open === 0) this.#onEmpty?.();
    };
    sent.then(settled, settled);
  }

  /** Runs `work` as soon as none of them can leave anything behind any more. */
  onceEmpty(work: () => void): void {
    if (this.#open === 0) work();
    else this.#onEmpty = work;
  }
}

/** By contract a record that cannot be removed stays until it expires; here it counts for nothing. */
function stays(): void {}
