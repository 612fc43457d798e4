import type { Change, ChangeLog, ChangeLogStep } from "../../../../src/db/changes/change_log.ts";
import type { Position } from "../../../../src/db/changes/log_position.ts";
import type { Filter } from "../../../../src/filter/filter.ts";
import { rowMatches } from "../../../../src/filter/match/row_matches.ts";
import type { Row } from "../../../../src/schema/table_info.ts";
import { parseExactDecimal } from "../exact_text.ts";
import { writeJson } from "../../../../src/schema/exact_json.ts";
import { exactText } from "../exact_text.ts";
import type { Heard } from "./replica.ts";
import { type Place, tables } from "./world.ts";

/** What a row was from a change on; null from its end. */
interface Version {
  readonly seq: number;
  readonly row: Row | null;
}

/**
 * Everything that was ever committed, and by that what a stream must have said. It reads the log
 * itself and knows nothing of how streams are made.
 */
export class Truth {
  readonly #log: ChangeLog;
  readonly #versions: Readonly<Record<Place, Map<string, Version[]>>> = {
    things: new Map(),
    parts: new Map(),
  };
  readonly #changes: Readonly<Record<Place, Change[]>> = { things: [], parts: [] };
  readonly #bySeq = new Map<number, Change>();
  #position: Position;

  private constructor(log: ChangeLog, position: Position) {
    this.#log = log;
    this.#position = position;
  }

  /** Knows all from now on; the tables are empty. */
  static async begin(log: ChangeLog): Promise<Truth> {
    return new Truth(log, await log.end());
  }

  /** Reads what has been committed since. */
  async learn(sent: (change: Change) => void = () => {}): Promise<void> {
    for (let from: Position | ChangeLogStep = this.#position;;) {
      const step: ChangeLogStep | null = await this.#log.next(from);
      if (step === null) throw new Error("The truth has lost history");
      for (const change of step.changes) {
        this.#note(change);
        sent(change);
      }
      from = step.to ?? step;
      this.#position = step.to ?? this.#position;
      if (step.changes.length === 0 && step.to !== null) return;
    }
  }

  /** Another life of the log begins, with the same rows. */
  async beginAgain(): Promise<void> {
    this.#position = await this.#log.end();
  }

  /** Whether an event says what a change has done for a user who sees these rows. */
  faultOf({ type, id, seq, item }: Heard, place: Place, filter: Filter): string | null {
    const change = this.#bySeq.get(seq);
    if (change === undefined || change.table !== tables[place]) {
      return `no change has number ${seq}`;
    }
    const after = change.after !== null && idOf(change.after, place) === id ? change.after : null;
    const isIn = after !== null && rowMatches(filter, after);
    if (isIn === (type === "removed")) return `change ${seq} leaves ${id} in: ${isIn}`;
    if (item === undefined) {
      return this.#wasEverIn(id, seq, place, filter) ? null : `${id} was never to be seen`;
    }
    for (const name of ["title", "label", "ownerId"]) {
      const value = after?.[name];
      if (item[name] === value || !Object.hasOwn(item, name)) continue;
      return `${id} of change ${seq} has ${name} ${item[name]}, not ${value}`;
    }
    return null;
  }

  /** How many changes there were. */
  countOf(place: Place): number {
    return this.#changes[place].length;
  }

  /** Whether a change is one of some. */
  isWhere(seq: number, isOne: (change: Change) => boolean): boolean {
    const change = this.#bySeq.get(seq);
    return change !== undefined && isOne(change);
  }

  /** The transaction of a change. */
  transactionOf(seq: number): bigint | null {
    return this.#bySeq.get(seq)?.transaction ?? null;
  }

  /** The ids of the rows that passed at a moment, in order; where numbers are those of commits. */
  idsAt(seq: number, place: Place, filter: Filter): readonly string[] {
    const ids: string[] = [];
    for (const [id, versions] of this.#versions[place]) {
      const row = versions.findLast((version) => version.seq <= seq)?.row ?? null;
      if (row !== null && rowMatches(filter, row)) ids.push(id);
    }
    return ids.toSorted();
  }

  /** One line for every event that the changes after a position must have brought. */
  eventsAfter(
    includes: (change: Change) => boolean,
    place: Place,
    filter: Filter,
  ): readonly string[] {
    const lines: string[] = [];
    for (const change of this.#changes[place].filter(includes)) {
      const { before, after } = change;
      const [from, to] = [before, after].map((row) => row === null ? null : idOf(row, place));
      const was = before !== null && rowMatches(filter, before);
      const is = after !== null && rowMatches(filter, after);
      const isSame = from === to;
      if (was && !(isSame && is)) lines.push(`removed ${from} ${change.seq}`);
      if (is) lines.push(`${was && isSame ? "changed" : "added"} ${to} ${change.seq}`);
    }
    return lines;
  }

  #wasEverIn(id: string, seq: number, place: Place, filter: Filter): boolean {
    const versions = this.#versions[place].get(id) ?? [];
    return versions.some((version) =>
      version.seq < seq && version.row !== null && rowMatches(filter, version.row)
    );
  }

  #note(change: Change): void {
    const place = change.table === tables.things ? "things" : "parts";
    const { before, after, seq } = change;
    this.#bySeq.set(seq, change);
    this.#changes[place].push(change);
    if (before !== null) this.#add(idOf(before, place), { seq, row: null }, place);
    if (after !== null) this.#add(idOf(after, place), { seq, row: after }, place);
  }

  #add(id: string, version: Version, place: Place): void {
    const versions = this.#versions[place].get(id);
    if (versions === undefined) this.#versions[place].set(id, [version]);
    else versions.push(version);
  }
}

/** As a replica names it. */
function idOf(row: Row, place: Place): string {
  return exactText(parseExactDecimal(writeJson(row[place === "things" ? "id" : "code"])));
}
