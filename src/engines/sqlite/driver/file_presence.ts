import { statSync } from "node:fs";
import type { Observer } from "../../../runtime/observation.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import { DatabaseError } from "../../../db/database_error.ts";

/** A look costs up to 100 microseconds: this often it costs a thousandth of the time. */
const lookEveryMs = 100;

/** The open file of a SQLite database, and the path that names it for everyone else. */
export interface FilePresenceOptions {
  /** As it was given: a link in it may lead elsewhere later. */
  readonly path: string;
  /** For the messages. */
  readonly label: string;
  /** `now` is a call of the engine of JavaScript; `elapsedMs` calls the runtime, which costs one microsecond. */
  readonly clock: Pick<Clock, "now">;
}

/**
 * True if the path of a SQLite database still names the file that is open. After `mv`, or a copy
 * that is not written into the file itself, a process keeps using a file that no other program
 * finds: what it writes there is lost, and what it reads is old.
 */
export class FilePresence {
  readonly #options: FilePresenceOptions;
  readonly #opened: string | null;
  #lookedAt = -Infinity;
  #lost: DatabaseError | null = null;
  #observe: Observer | null = null;

  /** The file has just been opened. */
  constructor(options: FilePresenceOptions) {
    this.#options = options;
    this.#opened = identityOf(options.path);
  }

  /** Throws a DatabaseError, `replaced`, as long as the path names another file, or none. */
  require(): void {
    const now = this.#options.clock.now();
    // The system clock may be set back.
    if (Math.abs(now - this.#lookedAt) >= lookEveryMs) {
      this.#lookedAt = now;
      this.#look();
    }
    if (this.#lost !== null) throw this.#lost;
  }

  /** From now on reports to this observer that the file is gone. */
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

/** No answer, or that of a system which does not number files, proves nothing. */
const unknown = "unknown";

/** What distinguishes a file from others while it is open; null if there is none. */
function identityOf(path: string): string | null {
  try {
    const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
    if (stats === undefined) return null;
    return stats.ino === 0n ? unknown : `${stats.dev}:${stats.ino}`;
  } catch {
    return unknown;
  }
}
