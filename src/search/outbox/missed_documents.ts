import type { DocumentName } from "./outbox_entry.ts";

/**
 * The documents whose rows were written while the key-value store did not answer: kept in the memory
 * of this process until it does.
 */
export class MissedDocuments {
  readonly #names = new Map<string, DocumentName>();
  #downUntil = -Infinity;

  /** Returns true if the store did not answer a moment ago, so that no write shall wait for it. */
  isStoreDown(nowMs: number): boolean {
    return nowMs < this.#downUntil;
  }

  /** The store did not answer. */
  noteStoreDown(nowMs: number): void {
    this.#downUntil = nowMs + pauseMs;
  }

  /** The store has answered. */
  noteStoreUp(): void {
    this.#downUntil = -Infinity;
  }

  /** Adds documents; past {@link maxMissed} of them the oldest are left to a sweep. */
  add(names: readonly DocumentName[]): void {
    for (const name of names) this.#names.set(JSON.stringify([name.index, name.docId]), name);
    for (const code of this.#names.keys()) {
      if (this.#names.size <= maxMissed) break;
      this.#names.delete(code);
    }
  }

  /** Removes and gives all of them. */
  take(): readonly DocumentName[] {
    const names = [...this.#names.values()];
    this.#names.clear();
    return names;
  }
}

/** A transaction that waits holds locks: in so long a time only one finds out. */
const pauseMs = 5_000;

const maxMissed = 100_000;
