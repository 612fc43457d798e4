import { statSync } from "node:fs";
import { type LockFile, lockFileExists, openLockFile } from "../../../runtime/lock_file.ts";
import type { Clock, Observer } from "../../../runtime/runtime.ts";

/** The maximum wait for the lock, in ms: a process that holds it for longer may be suspended. */
const maxWaitMs = 100;

/** The interval, in ms, at which a process looks for another process that uses the file. */
const lookEveryMs = 20;

export interface CrossProcessWriteLockOptions {
  /** The path of the database, in whose folder the two lock files are. */
  readonly path: string;
  readonly label: string;
  readonly clock: Clock;
}

interface Locks {
  readonly turn: LockFile;
  /** Held by the process that waits for `turn`, so that no other process can overtake it. */
  readonly next: LockFile;
}

/**
 * Orders the writes of several processes to one file by file locks, which wake a waiting process.
 * With SQLite's own lock, processes poll, so another process can write often between two polls.
 * SQLite still decides who writes: a process that waited too long for the file lock polls.
 */
export class CrossProcessWriteLock {
  readonly #options: CrossProcessWriteLockOptions;
  #locks: Locks | null = null;
  #isOff = false;
  #looksAt = 0;
  #isWanted = false;
  #isHeld = false;
  /** The wait for the locks, or null. It cannot be aborted, so it can last longer than `take`. */
  #coming: Promise<void> | null = null;
  #observe: Observer | null = null;
  #notice: string | null = null;

  constructor(options: CrossProcessWriteLockOptions) {
    this.#options = options;
  }

  /** Resolves when this process has the lock, or after some time without it. Never rejects. */
  async take(): Promise<void> {
    this.#isWanted = true;
    if (this.#isHeld || this.#coming !== null) return;
    const locks = this.#locks ?? this.#look();
    if (locks === null || this.#takeNow(locks)) return;
    this.#coming = this.#wait(locks);
    await this.#waitAtMost(this.#coming);
  }

  /** Waits like {@link take}, after SQLite has reported that another process writes. */
  async meetBusy(): Promise<void> {
    if (this.#locks === null && !this.#isOff) this.#open();
    await this.take();
  }

  release(): void {
    this.#isWanted = false;
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#locks?.turn.unlockSync();
  }

  observeBy(observe: Observer): void {
    this.#observe = observe;
    if (this.#notice !== null) observe({ kind: "notice", message: this.#notice });
    this.#notice = null;
  }

  close(): void {
    this.#isOff = true;
    this.#isHeld = false;
    // Closing the file releases the lock. A thread that waits for the lock then gets it, and ends.
    this.#locks?.turn.close();
    this.#locks?.next.close();
    this.#locks = null;
  }

  #look(): Locks | null {
    const now = this.#options.clock.elapsedMs();
    if (this.#isOff || now < this.#looksAt) return null;
    this.#looksAt = now + lookEveryMs;
    if (lockFileExists(`${this.#options.path}-turn`)) this.#open();
    return this.#locks;
  }

  #open(): void {
    const { path } = this.#options;
    let next: LockFile | null = null;
    try {
      // Each user who can open the database must also be able to open the lock files.
      const mode = statSync(path).mode & 0o666;
      next = openLockFile(`${path}-next`, mode);
      this.#locks = { next, turn: openLockFile(`${path}-turn`, mode) };
    } catch (error) {
      next?.close();
      this.#fail(error);
    }
  }

  #takeNow({ turn, next }: Locks): boolean {
    try {
      if (!next.tryLockSync(true)) return false;
      this.#isHeld = turn.tryLockSync(true);
      next.unlockSync();
    } catch (error) {
      this.#fail(error);
    }
    return this.#isHeld || this.#isOff;
  }

  /** Waits in a separate thread, because the wait for a file lock blocks and cannot be aborted. */
  async #wait({ turn, next }: Locks): Promise<void> {
    try {
      await next.lock(true);
      await turn.lock(true);
      next.unlockSync();
      if (this.#isWanted) this.#isHeld = true;
      else turn.unlockSync();
    } catch (error) {
      if (!this.#isOff) this.#fail(error);
    }
    this.#coming = null;
  }

  async #waitAtMost(coming: Promise<void>): Promise<void> {
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(maxWaitMs, resolve);
    await Promise.race([coming, over]);
    cancel();
  }

  #fail(error: unknown): void {
    this.close();
    const message = `Several processes write to ${this.#options.label}, and cannot take turns, ` +
      `so that some writes wait long: ${error instanceof Error ? error.message : error}`;
    if (this.#observe === null) this.#notice = message;
    else this.#observe({ kind: "notice", message });
  }
}
