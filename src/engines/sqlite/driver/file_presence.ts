import { statSync } from "node:fs";
import type { Clock, Observer } from "../../../runtime/runtime.ts";
import type { SqliteFile } from "./sqlite_file.ts";
import { DatabaseError, reasonOf } from "../../../db/database_error.ts";

/** The interval of checks, in milliseconds. A check takes at most a thousandth of this time. */
const lookEveryMs = 100;

export interface FilePresenceOptions {
  readonly label: string;
  /** Only `now` is used, because a call of `elapsedMs` takes 1 µs in the JavaScript runtime. */
  readonly clock: Pick<Clock, "now">;
}

/** Checks that the path still leads to the open file. Writes to a replaced file would be lost. */
export class FilePresence {
  readonly #file: SqliteFile;
  readonly #options: FilePresenceOptions;
  #opened: string | null;
  #lookedAt = -Infinity;
  #lost: DatabaseError | null = null;
  #isDamaged = false;
  #observe: Observer | null = null;

  constructor(file: SqliteFile, options: FilePresenceOptions) {
    this.#file = file;
    this.#options = options;
    this.#opened = identityOf(file);
  }

  require(): void {
    const now = this.#options.clock.now();
    // The difference can be negative, because the system clock can be set back.
    if (Math.abs(now - this.#lookedAt) >= lookEveryMs && !this.#isDamaged) {
      this.#lookedAt = now;
      this.#look();
    }
    if (this.#lost !== null) throw this.#lost;
  }

  reportDamage(error: DatabaseError): void {
    if (this.#isDamaged || error === this.#lost) return;
    this.#isDamaged = true;
    this.#lose(`is damaged, or another program has overwritten it (${reasonOf(error)})`);
  }

  observeBy(observe: Observer): void {
    const isFirst = this.#observe === null;
    this.#observe = observe;
    const { label } = this.#options;
    if (!this.#file.isUnchanging || !isFirst) return;
    const message = `the folder of ${label} cannot be written, so the service reads the file ` +
      "without its journal, and stops reading it as soon as another program changes it";
    observe({ kind: "notice", message });
  }

  #look(): void {
    const found = identityOf(this.#file);
    if (`${found}${empty}` === this.#opened) this.#opened = found;
    const isThere = found === this.#opened || found === unknown || this.#opened === unknown;
    if (isThere) this.#lost = null;
    if (isThere || this.#lost !== null) return;
    const isChanged = this.#file.isUnchanging || `${this.#opened}${empty}` === found;
    const what = isChanged ? "changed or replaced" : "replaced by another one";
    this.#lose(`was ${found === null ? "moved or deleted" : what} while it was open`);
  }

  #lose(what: string): void {
    const { label } = this.#options;
    const error = new Error(
      `The file of ${label} ${what}: nothing is read from it or written to it any more. Stop the ` +
        "service, put the right file in its place, without the -wal and -shm files of another " +
        "one, and start it again",
    );
    this.#lost = new DatabaseError("replaced", error);
    this.#observe?.({ kind: "database_replaced", database: label, error });
  }
}

const empty = ":empty";

const unknown = "unknown";

function identityOf({ givenPath: path, isUnchanging }: SqliteFile): string | null {
  try {
    const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
    if (stats === undefined) return null;
    const file = stats.ino === 0n ? unknown : `${stats.dev}:${stats.ino}`;
    if (!isUnchanging) return file !== unknown && stats.size === 0n ? `${file}${empty}` : file;
    const journal = statSync(`${path}-wal`, { throwIfNoEntry: false });
    return `${file}:${stats.size}:${stats.mtimeNs}:${journal?.size ?? 0}`;
  } catch {
    return unknown;
  }
}
