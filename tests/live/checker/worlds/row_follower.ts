import { hiddenMark } from "../../../support/http.ts";
import type { Block } from "../event_source_parser.ts";
import { Follower, type FollowerOptions } from "./follower.ts";
import type { Rule } from "./findings.ts";
import type { History } from "./history.ts";
import { type Interest, queryOf } from "./interests.ts";
import { printRows, type Sight } from "./sight.ts";
import { type Place, readableColumns } from "./tables.ts";
import { undoneMark } from "./statements.ts";

type Item = Readonly<Record<string, unknown>>;

/** What a client of rows is made of. */
export interface RowFollowerOptions extends FollowerOptions {
  readonly interest: Interest;
  readonly history: History;
  readonly grantedView: Sight;
  /** Whether positions are moments between commits, as where commits have an order. */
  readonly hasMoments: boolean;
  /** Whether some changes are noticed, and not known: then what a row was may not be known. */
  readonly isUntold: boolean;
}

/**
 * A client as the documents describe it, that keeps rows by id, drops what it has heard already,
 * and starts over when it is invalidated. It checks what each event says against what could be listed.
 */
export class RowFollower extends Follower {
  readonly interest: Interest;
  /** The items that it holds, by id. */
  readonly rows = new Map<number, Item>();
  readonly name: string;
  protected readonly path: string;
  protected readonly user: string;
  readonly #options: RowFollowerOptions;
  /** The last change that was heard of each row. */
  readonly #seqs = new Map<number, number>();
  #isSynced = false;
  /** It resumed: until the next rest it may receive again what it knows. */
  #mayRepeat = false;
  /** Whether it has been at rest since it came. */
  #hasRested = false;
  /** The last moment at which it was at rest. */
  #rested = 0;
  /** A moment before anything that is still to come. */
  #since = 0;
  /** A moment before which it holds nothing. */
  #known = 0;
  /** The same of its position. */
  #sinceToken = 0;
  readonly #story: string[] = [];
  /** It cannot be applied: rows have come without their ids. */
  isBlind = false;

  /** Is away. */
  constructor(options: RowFollowerOptions) {
    super(options);
    this.#options = options;
    const { interest } = options;
    this.interest = interest;
    this.user = interest.user;
    this.path = `/api/${interest.place}/subscribe?${queryOf(interest)}`;
    this.name = `${interest.user} ${interest.place}?${decodeURIComponent(queryOf(interest))}`;
  }

  /** Whether the snapshot is complete. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** What it holds, as one text. */
  print(): string {
    return printRows([...this.rows], this.interest);
  }

  /**
   * It holds what it should, now that nothing happens. What had been on its way to it all the same
   * is there at the next rest: then it is held to what it knew at this one.
   */
  markRested(): void {
    this.#since = this.#rested;
    this.#rested = this.#options.history.now;
    this.#mayRepeat &&= !this.#hasRested;
    this.#hasRested = true;
  }

  /** Events may be of the lost history and of the restored rows, until it is invalidated. */
  expectRestore(): void {
    this.#mayRepeat = true;
    this.#hasRested = false;
  }

  /** Forgets everything, its position too. */
  forget(): void {
    this.disconnect();
    this.token = "";
  }

  protected begin(): void {
    this.#trace(`connects at ${this.token === "" ? "nothing" : "a position"}`);
    // A repeated event may show a row of any moment since the token.
    this.#since = Math.min(this.#since, this.#sinceToken);
    this.#mayRepeat = true;
    this.#hasRested = false;
    if (this.token === "") this.#startOver();
  }

  protected take({ event, lastEventId, hasId }: Block): void {
    this.#trace(event === null ? `position ${hasId}` : event.data.slice(0, 100));
    if (event === null) {
      if (hasId) this.#takeToken(lastEventId);
      return;
    }
    if (hasId) this.#fault("members", "a block of an event has an id");
    this.count++;
    for (const resumeToken of [undoneMark, hiddenMark]) {
      if (event.data.includes(resumeToken)) this.#fault("undone", event.data);
    }
    const data: Item = JSON.parse(event.data);
    if (data["type"] !== event.type) this.#fault("members", `${event.type}: ${event.data}`);
    switch (event.type) {
      case "existing":
        return this.#takePage(data);
      case "invalidate":
        return this.#startOver();
      case "added":
      case "changed":
      case "removed":
        return this.#takeChange(event.type, data);
      default:
        this.#fault("members", `there is no event ${event.type}`);
    }
  }

  #takeToken(token: string): void {
    this.token = token;
    this.#sinceToken = this.#since;
    const { hasMoments, grantedView, history } = this.#options;
    const { interest } = this;
    const isPlain = interest.user === "root" || grantedView.isPlain(interest.place);
    if (token === "" || !hasMoments || this.#mayRepeat || !this.#isSynced || this.isBlind) return;
    if (!isPlain || interest.include !== "") return;
    this.#known = Math.max(this.#known, this.#since);
    const moment = grantedView.momentOf(this.print(), interest, this.#known);
    if (moment !== null) {
      this.#known = moment;
      return;
    }
    this.#fault("moments", `from ${this.#known} to ${history.now} no list was\n${this.print()}`);
  }

  #takePage(data: Item): void {
    if (this.#isSynced) this.#fault("types", "a page after the last one");
    // A page holds a list of rows.
    for (const [index, item] of (data["items"] as readonly Item[]).entries()) {
      // Where the items lack their keys, these stand beside them.
      const id = item["id"] ?? (data["ids"] as readonly unknown[] | undefined)?.[index];
      if (typeof id !== "number") {
        this.isBlind = true;
        this.#fault("ids", `a page holds ${JSON.stringify(item)}`);
        continue;
      }
      this.#requireMembers(item);
      this.#requireRight(item, id);
      this.rows.set(id, item);
    }
    if (data["hasMore"] === false) this.#isSynced = true;
  }

  #takeChange(type: "added" | "changed" | "removed", data: Item): void {
    // What stands in the item of a change is an object.
    const item = data["item"] as Item | undefined;
    const names = Object.keys(data).toSorted().join();
    if (item !== undefined) this.#requireMembers(item);
    if (names !== (type === "removed" ? "id,seq,type" : "id,item,seq,type")) {
      const isWithoutId = names === "item,seq,type";
      this.#fault(isWithoutId ? "ids" : "members", `${type} with ${names}`);
    }
    const id = data["id"] ?? item?.["id"];
    if (typeof id !== "number") this.isBlind = true;
    if (this.isBlind) return;
    this.#apply(type, { id: Number(id), seq: Number(data["seq"]), item });
  }

  #apply(
    type: "added" | "changed" | "removed",
    { id, seq, item }: { id: number; seq: number; item: Item | undefined },
  ): void {
    const known = this.#seqs.get(id) ?? -1;
    if (!this.#isSynced) this.#fault("types", `${type} ${id} within a snapshot`);
    if (item !== undefined) this.#requireRight(item, id);
    if (seq <= known) {
      if (!this.#mayRepeat) this.#fault("order", `${type} ${id} has ${seq} after ${known}`);
      return;
    }
    const isKnown = this.rows.has(id);
    const { isUntold } = this.#options;
    if (isKnown === (type === "added") && !this.#mayRepeat && !isUntold) {
      this.#fault("types", `${type} ${id} (${seq}), held: ${isKnown}`);
    }
    this.#seqs.set(id, seq);
    if (item === undefined) this.rows.delete(id);
    else this.rows.set(id, item);
  }

  #requireRight(item: Item, id: number): void {
    const { interest } = this;
    const { grantedView } = this.#options;
    const since = this.#since;
    if (!grantedView.couldList(item, id, interest, since)) {
      this.#fault(
        "leak",
        `${JSON.stringify(item)} since ${since}; ${grantedView.biography(id, interest)}`,
      );
    }
    if (interest.include !== "") this.#requireIncluded(item, since);
  }

  /** What is shown is what was selected, and no more. */
  #requireMembers(item: Item): void {
    const { select, place, include } = this.interest;
    const shown = select ?? readableColumns[place].map(([name]) => name);
    const names = Object.keys(item).filter((name) =>
      include === "" || !Object.hasOwn(includedPlaces, name)
    );
    if (names.toSorted().join() !== [...shown].toSorted().join()) {
      this.#fault("members", `an item with ${names}`);
    }
  }

  #requireIncluded(item: Item, since: number): void {
    const id = typeof item["id"] === "number" ? item["id"] : null;
    for (const [name, place] of Object.entries(includedPlaces)) {
      const value = item[name];
      if (value === undefined || value === null) continue;
      // A relation is a row or a list of rows.
      for (const related of [value].flat() as Item[]) {
        const { user } = this.interest;
        // A related row may have been read after another change of the row itself.
        const above = Array.isArray(value) ? id : null;
        if (!this.#options.grantedView.couldInclude(related, { user, place, above }, since)) {
          this.#fault(
            "leak-included",
            `${name} ${JSON.stringify(related)} under ${id} since ${since}`,
          );
        }
        this.#requireIncluded(related, since);
      }
    }
  }

  #startOver(): void {
    this.rows.clear();
    this.#seqs.clear();
    this.#isSynced = false;
    this.#since = Math.min(this.#since, this.#options.history.ago(maxSharedMs));
    this.#known = this.#since;
  }

  #fault(rule: Rule, text: string): void {
    this.findings.add(rule, [...this.#story, `${this.name}: ${text}`].join("\n"));
  }

  #trace(line: string): void {
    const { history } = this.#options;
    this.#story.push(`  ${history.now}, ${this.#since}: ${line}`);
    if (this.#story.length > toldLines) this.#story.shift();
  }
}

/** So much of what came before a finding is reported with it. */
const toldLines = 25;

/** Pages of a snapshot are shared by the streams that request the same within this time. */
const maxSharedMs = 2_000;

/** Where the rows below a name come from. */
const includedPlaces: Readonly<Record<string, Place>> = {
  project: "projects",
  notes: "notes",
  tags: "tags",
  item: "items",
  items: "items",
};
