import { statSync } from "node:fs";
import { type LockFile, lockFileExists, openLockFile } from "../../../runtime/lock_file.ts";
import type { Observer } from "../../../runtime/observation.ts";
import type { Clock } from "../../../runtime/runtime.ts";

/** Several times what a group takes: a process that holds a lock for longer may be stopped. */
const maxWaitMs = 100;

/** How often a process that has met no other looks whether there is one. */
const lookEveryMs = 20;

/** What the write turns of a SQLite file work with. */
export interface CrossProcessWriteLockOptions {
  /** That of the database: the locks are those of two files beside it. */
  readonly path: string;
  /** For the notice. */
  readonly label: string;
  readonly clock: Clock;
}

interface Locks {
  /** Held while a process writes. */
  readonly turn: LockFile;
  /** Held while a process waits for `turn`. The one that has just written has to take it first. */
  readonly next: LockFile;
}

/**
 * The turns of the processes that write to one SQLite file. SQLite refuses a second writer without a
 * word when it may come: it polls, and the first one has begun again. The lock of a file wakes the
 * process that waits for it. It is a courtesy, and SQLite alone decides who writes: a process to
 * which no turn comes in time polls, as all do where files have no locks.
 */
export class CrossProcessWriteLock {
  readonly #options: CrossProcessWriteLockOptions;
  /** Null as long as no other process was met. */
  #locks: Locks | null = null;
  /** True if it is closed, or there can be no locks. */
  #isOff = false;
  #looksAt = 0;
  /** Between `take` and `release`. */
  #isWanted = false;
  #isHeld = false;
  /** The wait for the locks, which cannot be ended: it may be longer than that of a `take`. */
  #coming: Promise<void> | null = null;
  #observe: Observer | null = null;
  /** A notice that no observer has been given. */
  #notice: string | null = null;

  /** Opens no file before another process is met, which most files never see. */
  constructor(options: CrossProcessWriteLockOptions) {
    this.#options = options;
  }

  /** Resolves when the turn has come, or after a while without it. Never rejects. */
  async take(): Promise<void> {
    this.#isWanted = true;
    if (this.#isHeld || this.#coming !== null) return;
    const locks = this.#locks ?? this.#look();
    if (locks === null || this.#takeNow(locks)) return;
    this.#coming = this.#wait(locks);
    await this.#waitAtMost(this.#coming);
  }

  /** Says that the file was busy, so that other processes write to it; then the same as `take`. */
  async meetBusy(): Promise<void> {
    if (this.#locks === null && !this.#isOff) this.#open();
    await this.take();
  }

  /** Wakes the process that waits. */
  release(): void {
    this.#isWanted = false;
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#locks?.turn.unlockSync();
  }

  /** Returns this observer the notice that there are no turns: once, also if it is known already. */
  observeBy(observe: Observer): void {
    this.#observe = observe;
    if (this.#notice !== null) observe({ kind: "notice", message: this.#notice });
    this.#notice = null;
  }

  /** Takes no more turns. */
  close(): void {
    this.#isOff = true;
    this.#isHeld = false;
    // A thread that waits for a lock ends when it has it, and gives it back, as its file is closed.
    this.#locks?.turn.close();
    this.#locks?.next.close();
    this.#locks = null;
  }

  /** Another process that has met this one has created the files. */
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
      // Processes of other users, too, if they may use the database.
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

  /** Each wait is one of a thread: it does not block this one, and cannot be ended. */
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
