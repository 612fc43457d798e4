import type { ChangeLog } from "../../db/changes/change_log.ts";
import type { Position } from "../../db/changes/log_position.ts";

/** A row that was read ahead of the changes, and whether the client holds it. */
interface RowAhead {
  readonly isHeld: boolean;
  readonly at: Position;
}

/** The position of a read of held rows, and the position up to which the client has the changes. */
export interface ReadMoment {
  readonly at: Position;
  readonly to: Position;
}

/**
 * The rows that one client holds, by the ids of their keys, for a filter that reads related rows.
 * Such a filter is evaluated in the current state of the database, so a change does not show
 * whether the row matched before. The memory is bounded, and reports when it has no information.
 */
export class HeldRows {
  /** All held rows, or null if only the rows of {@link #ahead} are known. */
  #all: Set<string> | null;
  #letters = 0;
  /** The rows that were read ahead of changes which the client has yet to receive. */
  readonly #ahead = new Map<string, RowAhead>();
  readonly #log: Pick<ChangeLog, "includes">;
  readonly #maxRows: number;

  private constructor(log: Pick<ChangeLog, "includes">, all: Set<string> | null, maxRows: number) {
    this.#log = log;
    this.#all = all;
    this.#maxRows = maxRows;
  }

  /** Returns the state of a client without rows. More than `maxRows` rows are not remembered. */
  static empty(log: Pick<ChangeLog, "includes">, maxRows: number): HeldRows {
    return new HeldRows(log, new Set(), maxRows);
  }

  /** Returns the state of a client with unknown rows, which e.g. another stream has sent. */
  static unknown(log: Pick<ChangeLog, "includes">): HeldRows {
    return new HeldRows(log, null, 0);
  }

  /** True if the state of every row is known. */
  get isComplete(): boolean {
    return this.#all !== null;
  }

  /** Returns true if the client holds a row; null if that is unknown. */
  has(id: string): boolean | null {
    return this.#all?.has(id) ?? this.#ahead.get(id)?.isHeld ?? null;
  }

  /** Records that the client receives a row or its removal. */
  set(id: string, isHeld: boolean, { at, to }: ReadMoment): void {
    if (this.#log.includes(to, at)) this.#ahead.delete(id);
    else this.#ahead.set(id, { isHeld, at });
    const all = this.#all;
    if (all === null || all.has(id) === isHeld) return;
    if (isHeld) all.add(id);
    else all.delete(id);
    this.#letters += isHeld ? id.length : -id.length;
    if (all.size > this.#maxRows || this.#letters > maxLetters) this.#all = null;
  }

  /** Records that the client receives the rows of a page that was read at a position. */
  addAll(ids: readonly string[], position: Position): void {
    for (const id of ids) this.set(id, true, { at: position, to: position });
  }

  /** Records that the client has received all changes up to a position. */
  advance(to: Position): void {
    for (const [id, { at }] of this.#ahead) {
      if (this.#log.includes(to, at)) this.#ahead.delete(id);
    }
  }

  /** The ids of the rows that were read ahead of the changes. Other clients may have other rows. */
  idsAhead(): Iterable<string> {
    return this.#ahead.keys();
  }

  /** Returns the information that remains valid for a client that leaves its group. */
  aheadOnly(): HeldRows {
    const rows = HeldRows.unknown(this.#log);
    for (const [id, row] of this.#ahead) rows.#ahead.set(id, row);
    return rows;
  }

  /** Returns the ids of rows that may differ between two clients that received the same changes. */
  divergentIds(other: HeldRows): ReadonlySet<string> {
    const ids = new Set([...this.idsAhead(), ...other.idsAhead()]);
    if (this.#all !== null && other.#all !== null) {
      for (const id of this.#all.symmetricDifference(other.#all)) ids.add(id);
    }
    return ids;
  }
}

/** Limit of all ids together in characters, because keys may be long. */
const maxLetters = 1024 * 1024;
