import type { DocumentName } from "./outbox_entry.ts";

export class MissedDocuments {
  readonly #names = new Map<string, DocumentName>();
  #downUntil = -Infinity;

  /** Returns true if the store has recently not responded: a write should then not wait for it. */
  isStoreDown(nowMs: number): boolean {
    return nowMs < this.#downUntil;
  }

  noteStoreDown(nowMs: number): void {
    this.#downUntil = nowMs + pauseMs;
  }

  noteStoreUp(): void {
    this.#downUntil = -Infinity;
  }

  /** Adds documents. Above {@link maxMissed}, drops the oldest, which the next sweep will index. */
  add(names: readonly DocumentName[]): void {
    for (const name of names) this.#names.set(JSON.stringify([name.index, name.docId]), name);
    for (const code of this.#names.keys()) {
      if (this.#names.size <= maxMissed) break;
      this.#names.delete(code);
    }
  }

  take(): readonly DocumentName[] {
    const names = [...this.#names.values()];
    this.#names.clear();
    return names;
  }
}

/** How long writes skip a failed store, in milliseconds. Waiting writes would hold their locks. */
const pauseMs = 5_000;

const maxMissed = 100_000;
