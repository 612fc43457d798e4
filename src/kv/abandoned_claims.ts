/**
 * A claim is a record that can be created only once. If the store does not respond, the service
 * refuses the request, but the store may still write the claim later. This process then ignores and
 * deletes the record, so that the client can send the request again.
 */
export class AbandonedClaims {
  readonly #ids = new Set<string>();
  #open = 0;
  #onEmpty: (() => void) | null = null;

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string, sent: Promise<unknown>, remove: () => Promise<void>): void {
    this.#ids.add(id);
    this.#open++;
    const cleanUp = async () => {
      // If the record cannot be removed, this process ignores it until the record expires.
      await remove().then(() => this.#ids.delete(id), () => {});
      this.#open--;
      if (this.#open === 0) this.#onEmpty?.();
    };
    sent.then(cleanUp, cleanUp);
  }

  onceEmpty(work: () => void): void {
    if (this.#open === 0) work();
    else this.#onEmpty = work;
  }
}
