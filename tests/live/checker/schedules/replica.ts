import { hiddenMark } from "../../../support/http.ts";
import type { Block } from "../event_source_parser.ts";
import { exactText, parseExactDecimal } from "../exact_text.ts";
import { type Place, undoneMark } from "./world.ts";

/** An event of a change, as it came. */
export interface Heard {
  readonly type: "added" | "changed" | "removed";
  /** As exact text. */
  readonly id: string;
  readonly seq: number;
  /** What the row is called; of a `removed`, undefined. */
  readonly item: Readonly<Record<string, unknown>> | undefined;
}

/** What a replica needs to know of positions, which are closed to clients. */
export interface Positions {
  /** Whether `token` is at or after `earlier`. */
  includes(token: string, earlier: string): boolean;
  /** The last change that a token covers; null where positions are no numbers. */
  seqOf(token: string): number | null;
}

/** What a replica is made of. */
export interface ReplicaOptions {
  readonly place: Place;
  readonly positions: Positions;
  /** Whether positions order all changes. */
  readonly isTotal: boolean;
  /**
   * Whether the filter reads related rows. They are evaluated as they are now: just before an
   * invalidation a stream may send what a row would have been by them.
   */
  readonly walks: boolean;
}

/**
 * A client as the documents describe it: it keeps rows by id, drops what it has heard already, and
 * starts over when it is invalidated. It notes whatever a sound stream could not have sent.
 */
export class Replica {
  /** Items by id, both as exact text. */
  readonly rows = new Map<string, string>();
  /** What was wrong, in words. */
  readonly faults: string[] = [];
  /** What was received since the last look, which empties it. */
  heard: Heard[] = [];
  /** Where the client resumes. */
  token = "";
  /** Every event that was checked. */
  count = 0;
  readonly #appendEvent: Place;
  readonly #positions: Positions;
  /** The last change that was heard of each row. */
  readonly #seqs = new Map<string, number>();
  #isSynced = false;
  /** Up to this change the stream may say again what it has said. */
  #repeatsUpTo = -1;
  #lastSeq = -1;
  #highest = -1;
  #isAfterInvalidate = false;
  /** It resumed a stream: rows may be removed that it never saw. */
  #isResumed = false;
  readonly #isTotal: boolean;
  readonly #walks: boolean;

  /** Holds nothing yet. */
  constructor({ place, positions, isTotal, walks }: ReplicaOptions) {
    this.#appendEvent = place;
    this.#positions = positions;
    this.#isTotal = isTotal;
    this.#walks = walks;
  }

  /** Whether the snapshot is complete. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Whether what was heard is all there was to hear: no connection broke within it. */
  get isUnbroken(): boolean {
    return this.#isSynced && this.#repeatsUpTo < 0;
  }

  /** Whether it was connected all the time since it began, and so received each change. */
  get isConstant(): boolean {
    return this.#isSynced && !this.#isResumed;
  }

  /** A connection begins; without a position it begins with everything. */
  connect(): void {
    this.#lastSeq = -1;
    // A client that was cut off may have received more than its position says.
    if (this.token === "") this.#startOver();
    else {
      this.#isResumed = true;
      this.#repeatsUpTo = Math.max(this.#highest, this.#positions.seqOf(this.token) ?? 0, 0);
    }
  }

  /** Takes a block of the stream; returns what was in it, or null. */
  take({ event, lastEventId, hasId }: Block): Heard["type"] | Received | null {
    if (event === null) return hasId ? this.#takeToken(lastEventId) : null;
    if (hasId) this.#fault("a block of an event has an id");
    this.count++;
    if (event.data.includes(hiddenMark)) this.#fault(`a hidden value: ${event.data}`);
    if (event.data.includes(undoneMark)) this.#fault(`what was taken back: ${event.data}`);
    // The stream's own events are objects.
    const data = parseExactDecimal(event.data) as Record<string, unknown>;
    if (data["type"] !== event.type) this.#fault(`the data of ${event.type} say ${data["type"]}`);
    switch (event.type) {
      case "invalidate":
        this.#startOver();
        this.#isAfterInvalidate = true;
        return { reason: String(data["reason"]) };
      case "existing":
        return this.#takePage(data);
      case "added":
      case "changed":
      case "removed":
        return this.#takeChange(event.type, data);
      default:
        this.#fault(`an event ${event.type}`);
        return null;
    }
  }

  #takeToken(token: string): null {
    if (token === "") {
      if (!this.#isAfterInvalidate) this.#fault("the position was taken back without a reason");
    } else {
      if (!this.#isSynced) this.#fault(`a position ${token} within a snapshot`);
      if (this.token !== "" && !this.#positions.includes(token, this.token)) {
        this.#fault(`the position went back from ${this.token} to ${token}`);
      }
      const seq = this.#positions.seqOf(token);
      if (seq !== null && seq >= this.#repeatsUpTo) this.#repeatsUpTo = -1;
    }
    this.#isAfterInvalidate = false;
    this.token = token;
    return null;
  }

  #takePage({ items, hasMore }: Record<string, unknown>): "existing" {
    if (this.#isSynced) this.#fault("a page after the last one");
    if (this.token !== "") this.#fault(`a page after the position ${this.token}`);
    // A page holds a list of rows.
    for (const item of items as Record<string, unknown>[]) {
      const id = this.#idOf(item);
      this.rows.set(id, exactText(item));
    }
    if (hasMore === false) this.#isSynced = true;
    return "existing";
  }

  #takeChange(type: Heard["type"], data: Record<string, unknown>): Heard["type"] {
    const seq = Number(String(data["seq"]).slice(1));
    // What stands in the item of a change is an object.
    const item = data["item"] as Record<string, unknown> | undefined;
    const names = Object.keys(data).toSorted().join();
    if (names !== (type === "removed" ? "id,seq,type" : "id,item,seq,type")) {
      this.#fault(`${type} with ${names}`);
    }
    const id = exactText(data["id"]);
    if (item !== undefined && this.#idOf(item) !== id) {
      this.#fault(`${type} ${id} with another item`);
    }
    this.#requireOrder(type, id, seq);
    this.heard.push({ type, id, seq, item });
    if (seq <= (this.#seqs.get(id) ?? -1)) return type;
    this.#requireKnown(type, id);
    this.#seqs.set(id, seq);
    if (item === undefined) this.rows.delete(id);
    else this.rows.set(id, exactText(item));
    return type;
  }

  #requireOrder(type: Heard["type"], id: string, seq: number): void {
    if (this.#isAfterInvalidate) this.#fault(`${type} ${id}: the position was not taken back`);
    const known = this.#seqs.get(id) ?? -1;
    if (seq <= known && this.#repeatsUpTo < 0) {
      this.#fault(`${type} ${id} is change ${seq}, and ${known} came before`);
    }
    // The removal of the old key and the arrival of the new one are one change.
    if (this.#isTotal && seq < this.#lastSeq) {
      this.#fault(`${type} ${id} is change ${seq}, and the stream was at ${this.#lastSeq}`);
    }
    this.#lastSeq = seq;
    this.#highest = Math.max(this.#highest, seq);
  }

  #requireKnown(type: Heard["type"], id: string): void {
    if (this.#walks || this.#repeatsUpTo >= 0 || (this.#isResumed && type === "removed")) return;
    const isKnown = this.rows.has(id);
    if (isKnown === (type === "added")) this.#fault(`${type} ${id}, known: ${isKnown}`);
  }

  #idOf(item: Readonly<Record<string, unknown>>): string {
    return exactText(item[this.#appendEvent === "things" ? "id" : "code"]);
  }

  #startOver(): void {
    this.rows.clear();
    this.#seqs.clear();
    this.#isSynced = false;
    this.#isResumed = false;
    this.#repeatsUpTo = -1;
    this.#highest = -1;
  }

  #fault(text: string): void {
    this.faults.push(text);
  }
}

/** What a block without a change says. */
export type Received = "existing" | { readonly reason: string };
