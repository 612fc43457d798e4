import { coversPosition, type Position } from "../../db/changes/log_position.ts";

/** A row that was read in a newer state than the changes that the client has received. */
interface RowAhead {
  readonly isHeld: boolean;
  readonly at: Position;
}

export interface ReadMoment {
  readonly at: Position;
  readonly to: Position;
}

/** Remembers the rows that a client holds: the database does not show if a row matched before. */
export class HeldRows {
  /** All held rows, or null if only the rows of {@link #ahead} are known. */
  #all: Set<string> | null;
  #letters = 0;
  readonly #ahead = new Map<string, RowAhead>();
  readonly #maxRows: number;

  private constructor(all: Set<string> | null, maxRows: number) {
    this.#all = all;
    this.#maxRows = maxRows;
  }

  static empty(maxRows: number): HeldRows {
    return new HeldRows(new Set(), maxRows);
  }

  /** Creates the object for a client whose rows are unknown, e.g. because it resumes a stream. */
  static unknown(): HeldRows {
    return new HeldRows(null, 0);
  }

  get isComplete(): boolean {
    return this.#all !== null;
  }

  has(id: string): boolean | null {
    return this.#all?.has(id) ?? this.#ahead.get(id)?.isHeld ?? null;
  }

  set(id: string, isHeld: boolean, { at, to }: ReadMoment): void {
    if (coversPosition(to, at)) this.#ahead.delete(id);
    else this.#ahead.set(id, { isHeld, at });
    const all = this.#all;
    if (all === null || all.has(id) === isHeld) return;
    if (isHeld) all.add(id);
    else all.delete(id);
    this.#letters += isHeld ? id.length : -id.length;
    if (all.size > this.#maxRows || this.#letters > maxLetters) this.#all = null;
  }

  addAll(ids: readonly string[], position: Position): void {
    for (const id of ids) this.set(id, true, { at: position, to: position });
  }

  advance(to: Position): void {
    for (const [id, { at }] of this.#ahead) {
      if (coversPosition(to, at)) this.#ahead.delete(id);
    }
  }

  /** The ids of rows that were read in a newer state. Other clients can have the older state. */
  idsAhead(): Iterable<string> {
    return this.#ahead.keys();
  }

  aheadOnly(): HeldRows {
    const rows = HeldRows.unknown();
    for (const [id, row] of this.#ahead) rows.#ahead.set(id, row);
    return rows;
  }

  /** Returns the ids of the rows that one of two clients may hold although the other does not. */
  divergentIds(other: HeldRows): ReadonlySet<string> {
    const ids = new Set([...this.idsAhead(), ...other.idsAhead()]);
    if (this.#all !== null && other.#all !== null) {
      for (const id of this.#all.symmetricDifference(other.#all)) ids.add(id);
    }
    return ids;
  }
}

/** Limit of the total length of all ids in UTF-16 code units, because keys can be long. */
const maxLetters = 1024 * 1024;
