import type { Change } from "../../../../src/db/changes/change_log.ts";
import type { Client } from "./client.ts";
import type { Positions } from "./replica.ts";
import type { Truth } from "./truth.ts";

/** What a prompt client must have heard. */
interface Ledger {
  since: number;
  readonly lines: string[];
}

/** What a judge knows of. */
export interface EventCheckOptions {
  readonly clients: readonly Client[];
  readonly truth: Truth;
  readonly positions: Positions;
  /** Called with what was received. */
  readonly trace: ((line: string) => void) | undefined;
}

/** Holds what clients have heard against what was committed. */
export class Evaluate {
  readonly #clients: readonly Client[];
  readonly #truth: Truth;
  readonly #positions: Positions;
  readonly #trace: ((line: string) => void) | undefined;
  readonly #ledgers = new Map<Client, Ledger>();
  #failure: string | null = null;
  /** A log that began again has what is left of the changes, and not each. */
  hasNewLife = false;

  /** Nothing was wrong yet. */
  constructor({ clients, truth, positions, trace }: EventCheckOptions) {
    this.#clients = clients;
    this.#truth = truth;
    this.#positions = positions;
    this.#trace = trace;
  }

  /** What was wrong first. */
  get failure(): string | null {
    return this.#failure;
  }

  /** The clients that read everything at once, and receive every change. */
  get prompt(): readonly Client[] {
    return [...this.#ledgers.keys()];
  }

  /** A prompt client receives everything from now on. */
  openLedger(client: Client): void {
    this.#ledgers.set(client, { since: -1, lines: [] });
  }

  /** What a client has heard is what the changes say. */
  check(client: Client): void {
    const { replica, interest, filter, faults } = client;
    const trace = this.#trace;
    const name = `client ${this.#clients.indexOf(client)}`;
    const ledger = this.#ledgers.get(client);
    for (const event of replica.heard) {
      trace?.(`${name} hears ${event.type} ${event.id} by change ${event.seq}`);
      const fault = filter === null ? null : this.#truth.faultOf(event, interest.place, filter);
      if (fault !== null) this.failAt(client, `${event.type}: ${fault}`);
      ledger?.lines.push(`${event.type} ${event.id} ${event.seq}`);
    }
    replica.heard = [];
    const [fault] = [...faults, ...replica.faults];
    if (fault !== undefined) this.failAt(client, fault);
  }

  /** At each position of a sound stream a client holds exactly the rows of that moment. */
  checkAt(client: Client, token: string): void {
    const { replica, filter, interest: { place } } = client;
    this.check(client);
    this.#trace?.(`client ${this.#clients.indexOf(client)} is at ${token}`);
    const seq = this.#positions.seqOf(token);
    const ledger = this.#ledgers.get(client);
    if (seq === null || !replica.isUnbroken) {
      if (ledger !== undefined) ledger.since = -1;
      return;
    }
    if (ledger !== undefined && ledger.since < 0 && replica.isConstant) {
      ledger.since = seq;
      ledger.lines.length = 0;
    }
    if (filter === null) return;
    const held = [...replica.rows.keys()].toSorted().join();
    const expected = this.#truth.idsAt(seq, place, filter).join();
    if (held !== expected) {
      this.failAt(client, `at ${token} it holds ${held} and not ${expected}`);
    }
  }

  /** Who was there all the time has heard of every change, once and in order. */
  closeLedger(client: Client): void {
    const ledger = this.#ledgers.get(client);
    const { filter, replica, interest: { place } } = client;
    if (ledger === undefined) return;
    if (ledger.since >= 0 && filter !== null && replica.isConstant && !this.hasNewLife) {
      const isNew = ({ seq }: Change) => seq > ledger.since;
      const expected = this.#truth.eventsAfter(isNew, place, filter).join("; ");
      const heard = ledger.lines.join("; ");
      if (heard !== expected) this.failAt(client, `it heard ${heard} and not ${expected}`);
    }
    ledger.lines.length = 0;
    ledger.since = this.#positions.seqOf(replica.token) ?? -1;
  }

  /** Something is wrong with a client. */
  failAt(client: Client | undefined, text: string): void {
    const { user, place, filter } = client?.interest ?? { user: "", place: "", filter: "" };
    const name = client === undefined ? "a client" : `client ${this.#clients.indexOf(client)}`;
    this.fail(`${name} (${user}, ${place} where ${filter || "anything"}): ${text}`);
  }

  /** Something is wrong. */
  fail(text: string): void {
    this.#failure ??= text;
  }
}
