import { statSync } from "node:fs";
import type { Observer } from "../../../runtime/observation.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import { DatabaseError } from "../../../db/database_error.ts";

/** The interval of checks, in milliseconds. A check takes at most a thousandth of it. */
const lookEveryMs = 100;

/** The open file of a SQLite database, and the path by which other programs find it. */
export interface FilePresenceOptions {
  /** The path as the program specified it. A link in the path may change later. */
  readonly path: string;
  /** The name of the database in messages. */
  readonly label: string;
  /** The clock. `now` is only a JavaScript call, but `elapsedMs` takes 1 µs in the runtime. */
  readonly clock: Pick<Clock, "now">;
}

/**
 * Checks that the path of a SQLite database still names the open file. After `mv`, or after a copy
 * that replaces the file, a process would use a file that no other program finds. Its writes would
 * be lost, and its reads outdated.
 */
export class FilePresence {
  readonly #options: FilePresenceOptions;
  readonly #opened: string | null;
  #lookedAt = -Infinity;
  #lost: DatabaseError | null = null;
  #observe: Observer | null = null;

  constructor(options: FilePresenceOptions) {
    this.#options = options;
    this.#opened = identityOf(options.path);
  }

  /** Throws a DatabaseError of kind `replaced` if the path names another file or no file. */
  require(): void {
    const now = this.#options.clock.now();
    // The system clock may be set back.
    if (Math.abs(now - this.#lookedAt) >= lookEveryMs) {
      this.#lookedAt = now;
      this.#look();
    }
    if (this.#lost !== null) throw this.#lost;
  }

  /** Sets the observer of the event that the path no longer names the file. */
  observeBy(observe: Observer): void {
    this.#observe = observe;
  }

  #look(): void {
    const { path, label } = this.#options;
    const found = identityOf(path);
    const isThere = found === this.#opened || found === unknown || this.#opened === unknown;
    if (isThere) this.#lost = null;
    if (isThere || this.#lost !== null) return;
    const error = new Error(
      `The file of ${label} was ${
        found === null ? "moved or deleted" : "replaced by another one"
      } ` +
        "while it was open: nothing is read from it or written to it any more. Stop the service, " +
        "put the right file in its place, without the -wal and -shm files of another one, and " +
        "start it again",
    );
    this.#lost = new DatabaseError("replaced", error);
    this.#observe?.({ kind: "database_replaced", database: label, error });
  }
}

/** The result of a check that failed, or of a system without file numbers: nothing is known. */
const unknown = "unknown";

function identityOf(path: string): string | null {
  try {
    const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
    if (stats === undefined) return null;
    return stats.ino === 0n ? unknown : `${stats.dev}:${stats.ino}`;
  } catch {
    return unknown;
  }
}
