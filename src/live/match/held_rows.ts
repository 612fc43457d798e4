import type { ChangeLog, Position } from "../../db/changes/change_log.ts";

/** What was found of a row by a read that knew of more than its reader had been sent. */
interface Found {
  readonly isHeld: boolean;
  readonly at: Position;
}

/** When rows were read, and up to where their reader has been sent the changes. */
export interface ReadMoment {
  readonly at: Position;
  readonly to: Position;
}

/**
 * Which rows a client holds, by the ids of their keys, where the filter walks along relations. Such
 * rows are judged as the database is when it is asked, so that no change tells whether the row
 * passed the last time. The memory is bounded: what it does not know it says.
 */
export class HeldRows {
  /** Null where only the rows of {@link #found} are known. */
  #all: Set<string> | null;
  #letters = 0;
  /** The rows whose own changes, or those of related ones, are still to come to the reader. */
  readonly #found = new Map<string, Found>();
  readonly #log: Pick<ChangeLog, "includes">;
  readonly #most: number;

  private constructor(log: Pick<ChangeLog, "includes">, all: Set<string> | null, most: number) {
    this.#log = log;
    this.#all = all;
    this.#most = most;
  }

  /** Of a client that holds nothing yet; of more than `most` rows nothing is kept. */
  static empty(log: Pick<ChangeLog, "includes">, most: number): HeldRows {
    return new HeldRows(log, new Set(), most);
  }

  /** Of a client that holds what was sent elsewhere, or too long ago. */
  static unknown(log: Pick<ChangeLog, "includes">): HeldRows {
    return new HeldRows(log, null, 0);
  }

  /** Whether it is known of every row. */
  get isComplete(): boolean {
    return this.#all !== null;
  }

  /** Whether the client holds a row; null where that is not known. */
  has(id: string): boolean | null {
    return this.#all?.has(id) ?? this.#found.get(id)?.isHeld ?? null;
  }

  /** The client has been sent a row, or that it is gone. */
  set(id: string, isHeld: boolean, { at, to }: ReadMoment): void {
    if (this.#log.includes(to, at)) this.#found.delete(id);
    else this.#found.set(id, { isHeld, at });
    const all = this.#all;
    if (all === null || all.has(id) === isHeld) return;
    if (isHeld) all.add(id);
    else all.delete(id);
    this.#letters += isHeld ? id.length : -id.length;
    if (all.size > this.#most || this.#letters > maxLetters) this.#all = null;
  }

  /** The client has been sent the rows of a page, which were read at a position. */
  addAll(ids: readonly string[], position: Position): void {
    for (const id of ids) this.set(id, true, { at: position, to: position });
  }

  /** The client has been sent all changes up to a position. */
  advance(to: Position): void {
    for (const [id, { at }] of this.#found) {
      if (this.#log.includes(to, at)) this.#found.delete(id);
    }
  }

  /** The rows that were read ahead of the changes: another client may have been sent others. */
  idsAhead(): Iterable<string> {
    return this.#found.keys();
  }

  /** What stays known of a client that goes on by itself. */
  aheadOnly(): HeldRows {
    const rows = HeldRows.unknown(this.#log);
    for (const [id, found] of this.#found) rows.#found.set(id, found);
    return rows;
  }

  /** The rows that may not be the same for two clients who were sent the same changes. */
  divergentIds(other: HeldRows): ReadonlySet<string> {
    const ids = new Set([...this.idsAhead(), ...other.idsAhead()]);
    if (this.#all !== null && other.#all !== null) {
      for (const id of this.#all.symmetricDifference(other.#all)) ids.add(id);
    }
    return ids;
  }
}

/** Keys may be long. */
const maxLetters = 1024 * 1024;
