import type { ChangeLog } from "../../db/changes/change_log.ts";
import type { Position } from "../../db/changes/log_position.ts";

/** True if a client holds a row that was read after changes that the client has not received. */
interface RowAhead {
  readonly isHeld: boolean;
  readonly at: Position;
}

/**
 * When held rows were read: the position of the read, and the one up to which the client has the
 * changes.
 */
export interface ReadMoment {
  readonly at: Position;
  readonly to: Position;
}

/**
 * Which rows one client holds, by the ids of their keys, where its filter reads related rows. Such
 * a filter is evaluated at the present state of the database, so that a change does not show
 * whether the row passed the last time. The memory is bounded, and says what it does not know.
 */
export class HeldRows {
  /** Null if only the rows of {@link #ahead} are known. */
  #all: Set<string> | null;
  #letters = 0;
  /** The rows that were read ahead of changes that the client is still to receive. */
  readonly #ahead = new Map<string, RowAhead>();
  readonly #log: Pick<ChangeLog, "includes">;
  readonly #maxRows: number;

  private constructor(log: Pick<ChangeLog, "includes">, all: Set<string> | null, maxRows: number) {
    this.#log = log;
    this.#all = all;
    this.#maxRows = maxRows;
  }

  /** For a client that holds no rows yet; more than `maxRows` are not remembered. */
  static empty(log: Pick<ChangeLog, "includes">, maxRows: number): HeldRows {
    return new HeldRows(log, new Set(), maxRows);
  }

  /** For a client that holds rows of another stream, or of too long ago. */
  static unknown(log: Pick<ChangeLog, "includes">): HeldRows {
    return new HeldRows(log, null, 0);
  }

  /** True if it is known for every row. */
  get isComplete(): boolean {
    return this.#all !== null;
  }

  /** Returns true if the client holds a row; null if that is not known. */
  has(id: string): boolean | null {
    return this.#all?.has(id) ?? this.#ahead.get(id)?.isHeld ?? null;
  }

  /** The client receives a row, or that it is removed. */
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

  /** The client receives the rows of a page, which was read at a position. */
  addAll(ids: readonly string[], position: Position): void {
    for (const id of ids) this.set(id, true, { at: position, to: position });
  }

  /** The client has received all changes up to a position. */
  advance(to: Position): void {
    for (const [id, { at }] of this.#ahead) {
      if (this.#log.includes(to, at)) this.#ahead.delete(id);
    }
  }

  /** The rows that were read ahead of the changes: another client may have received others. */
  idsAhead(): Iterable<string> {
    return this.#ahead.keys();
  }

  /** What stays known for a client that leaves its group. */
  aheadOnly(): HeldRows {
    const rows = HeldRows.unknown(this.#log);
    for (const [id, row] of this.#ahead) rows.#ahead.set(id, row);
    return rows;
  }

  /** The rows that may differ between two clients that have received the same changes. */
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
