import type { DocumentName } from "./outbox_entry.ts";

/** The documents that were written while the store failed, in memory until it responds again. */
export class MissedDocuments {
  readonly #names = new Map<string, DocumentName>();
  #downUntil = -Infinity;

  /** Returns true if the store did not respond recently. Writes then do not wait for it. */
  isStoreDown(nowMs: number): boolean {
    return nowMs < this.#downUntil;
  }

  /** Records that the store did not respond. */
  noteStoreDown(nowMs: number): void {
    this.#downUntil = nowMs + pauseMs;
  }

  noteStoreUp(): void {
    this.#downUntil = -Infinity;
  }

  /** Adds documents. Above {@link maxMissed}, drops the oldest, which a sweep indexes later. */
  add(names: readonly DocumentName[]): void {
    for (const name of names) this.#names.set(JSON.stringify([name.index, name.docId]), name);
    for (const code of this.#names.keys()) {
      if (this.#names.size <= maxMissed) break;
      this.#names.delete(code);
    }
  }

  /** Removes and returns all documents. */
  take(): readonly DocumentName[] {
    const names = [...this.#names.values()];
    this.#names.clear();
    return names;
  }
}

/** The pause after a failed call of the store, in ms, because waiting transactions hold locks. */
const pauseMs = 5_000;

const maxMissed = 100_000;
