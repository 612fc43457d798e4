import type { History, Row, State } from "./history.ts";
import type { Interest } from "./interests.ts";
import type { WorldOptions } from "./options.ts";
import { maySee, type UserName } from "./rights.ts";
import { type Place, readableColumns } from "./tables.ts";

/** What users could have listed at which moments, as the tables say it and the rights. */
export class Sight {
  readonly #history: History;
  readonly #scope: WorldOptions["scope"];
  readonly #links: WorldOptions["links"];
  readonly #prints = new WeakMap<Interest, Map<number, string>>();

  /** Looks into a history. */
  constructor(history: History, { scope, links }: Pick<WorldOptions, "scope" | "links">) {
    this.#links = links;
    this.#history = history;
    this.#scope = scope;
  }

  /** Whether a row as it is sent could have been listed at a moment from `since` to now. */
  couldList(item: Record<string, unknown>, id: number, interest: Interest, since: number): boolean {
    const { user, place, condition, select, include } = interest;
    const names = select ?? readableColumns[place].map(([name]) => name);
    // Where nothing else decides, each change of a transaction is sent as it was.
    const isPlain = include === "" && (user === "root" || this.isPlain(place));
    let last: Row | undefined;
    for (let index = this.#history.now; index >= since; index--) {
      const state = this.#history.at(index);
      if (state.isInner && !isPlain) continue;
      const row = state[place].get(id);
      // The row alone decides, and it was looked at.
      if (row === undefined || (isPlain && row === last)) continue;
      last = row;
      if (!isShown(item, row, names) || !condition.passes(row)) continue;
      if (maySee(user, { place, row, state, scope: this.#scope })) return true;
    }
    return false;
  }

  /** Whether a row as it is shown under another one could have been listed since then. */
  couldInclude(
    item: Record<string, unknown>,
    { user, place, above }: {
      readonly user: UserName;
      readonly place: Place;
      /** The id of the row that it stands under, where that decides. */
      readonly above: number | null;
    },
    since: number,
  ): boolean {
    const id = Number(item["id"]);
    for (let index = this.#history.now; index >= since; index--) {
      const state = this.#history.at(index);
      const row = state[place].get(id);
      if (state.isInner || row === undefined) continue;
      const names = readableColumns[place].map(([name]) => name)
        .filter((name) => Object.hasOwn(item, name));
      if (!isShown(item, row, names)) continue;
      if (above !== null && !this.#isBeneath(row, { user, place, above, state })) continue;
      if (maySee(user, { place, row, state, scope: this.#scope })) return true;
    }
    return false;
  }

  /** Whether a row stood under another one, for a user. */
  #isBeneath(
    row: Row,
    { user, place, above, state }: {
      readonly user: UserName;
      readonly place: Place;
      readonly above: number;
      readonly state: State;
    },
  ): boolean {
    if (place === "notes") return row["itemId"] === above;
    if (place !== "tags") return row["projectId"] === above;
    return state.itemTags.values().some((link) =>
      link["itemId"] === above && link["tagId"] === row["id"] &&
      (this.#links === "unserved" ||
        maySee(user, { place: "itemTags", row: link, state, scope: this.#scope }))
    );
  }

  /** What a row was, from moment to moment, for the reader of a finding. */
  biography(id: number, { place, user }: Interest): string {
    const lines: string[] = [];
    let last: Row | undefined;
    for (let index = 0; index <= this.#history.now; index++) {
      const state = this.#history.at(index);
      const row = state[place].get(id);
      if (row === last) continue;
      last = row;
      const isSeen = row !== undefined &&
        maySee(user, { place, row, state, scope: this.#scope });
      const when = state.isInner ? `within ${index}` : String(index);
      lines.push(`${when}: ${JSON.stringify(row ?? null)}${isSeen ? "" : " (unseen)"}`);
    }
    return lines.slice(-20).join("\n");
  }

  /** Whether the row alone decides who may see it. */
  isPlain(place: Place): boolean {
    return this.#scope === "own" || (place !== "items" && place !== "notes");
  }

  /** The first moment from `since` on at which a list was this; null where there is none. */
  momentOf(printed: string, interest: Interest, since: number): number | null {
    for (let index = since; index <= this.#history.now; index++) {
      if (!this.#history.at(index).isInner && this.#print(index, interest) === printed) {
        return index;
      }
    }
    return null;
  }

  /** The rows that an interest lists at a moment, as one text. */
  #print(index: number, interest: Interest): string {
    const prints = this.#prints.get(interest) ?? new Map<number, string>();
    this.#prints.set(interest, prints);
    const known = prints.get(index) ?? this.#printAgain(this.#history.at(index), interest);
    prints.set(index, known);
    return known;
  }

  #printAgain(state: State, interest: Interest): string {
    const rows = this.rowsOf(state, interest);
    return printRows(rows.map((row) => [Number(row["id"]), row]), interest);
  }

  /** The rows that an interest lists at a moment. */
  rowsOf(state: State, { user, place, condition }: Interest): readonly Row[] {
    const scope = this.#scope;
    return [...state[place].values()].filter((row) =>
      condition.passes(row) && maySee(user, { place, row, state, scope })
    );
  }
}

/** Rows by id as one text, but for what is included. */
export function printRows(
  rows: readonly (readonly [number, Readonly<Record<string, unknown>>])[],
  { place, select }: Interest,
): string {
  const names = select ?? readableColumns[place].map(([name]) => name);
  return rows.map(([id, row]) => `${id} ${JSON.stringify(names.map((name) => row[name]))}`)
    .toSorted().join("\n");
}

function isShown(item: Record<string, unknown>, row: Row, names: readonly string[]): boolean {
  return names.every((name) => item[name] === row[name]);
}
