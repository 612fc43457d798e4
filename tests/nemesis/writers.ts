/** The writers of a round: items in a history, and orders with idempotency keys and budgets. */
import type { Chance } from "../live/checker/chance.ts";
import { type Effect, History, type RowState } from "../simulation/history.ts";
import {
  createItem,
  deleteItem,
  isSameItem,
  type ItemRequest,
  patchItem,
  readItem,
  recordItemRequest,
  unknownMark,
} from "../simulation/item_requests.ts";
import { sleep } from "../../src/runtime/runtime.ts";
import type { Requests } from "./clients.ts";
import type { Member } from "./fleet.ts";

/** How many operations had which outcome. */
export interface Outcomes {
  ok: number;
  fail: number;
  unknown: number;
}

export interface WriterParts {
  readonly chance: Chance;
  readonly requests: Requests;
  readonly outcomes: Outcomes;
  member(): Member;
}

/** The ids of the items. Lists have at most 100 rows. */
const itemIds = 80;
/** The checker of the history accepts 30 operations of a row. */
const maxOperations = 26;

/** Writes and reads items, and records each operation in the history of its row. */
export class ItemWriters {
  readonly history: History;
  readonly #parts: WriterParts;
  readonly #counts = new Map<number, number>();

  constructor(parts: WriterParts, initial: ReadonlyMap<number, RowState>) {
    this.#parts = parts;
    this.history = new History(initial);
  }

  async writeUntil(isOver: () => boolean): Promise<void> {
    const { chance } = this.#parts;
    while (!isOver()) {
      const id = 1 + chance.below(itemIds);
      const count = this.#counts.get(id) ?? 0;
      if (count < maxOperations) {
        this.#counts.set(id, count + 1);
        await this.#writeOnce(id);
      }
      await sleep(10 + chance.below(40));
    }
  }

  async #writeOnce(id: number): Promise<void> {
    const { chance } = this.#parts;
    const title = `t${chance.below(1_000_000)}`;
    const projectId = chance.pick([1, 2, 3, null]);
    const rank = chance.below(10);
    switch (chance.below(12)) {
      case 0:
      case 1:
      case 2:
        return await this.#send(createItem(id, { projectId, rank, title }));
      case 3:
        return await this.#send(deleteItem(id));
      case 4:
        return await this.#send(patchItem(id, { title }, 1 + chance.below(4)));
      case 5:
        return await this.#send(readItem(id));
      case 6:
        return await this.#send(upsertItem(id, { projectId, rank, title }));
      case 7:
        return await this.#giveProject();
      case 8:
        return await this.#send(patchItem(id, { projectId }));
      default:
        return await this.#send(patchItem(id, { rank }));
    }
  }

  async #send(request: ItemRequest): Promise<void> {
    const { requests, outcomes, member } = this.#parts;
    const { method, path, body, headers } = request;
    const sent = { user: "root", body, headers };
    const send = () => requests.send(member(), method, path, sent);
    outcomes[await recordItemRequest(this.history, request, send)]++;
  }

  /** Moves the items of a project to another user. */
  async #giveProject(): Promise<void> {
    const { chance, requests, outcomes, member } = this.#parts;
    const body = { ownerId: chance.pick(["ada", "bob"]) };
    const path = `/api/projects/${1 + chance.below(3)}`;
    const response = await requests.send(member(), "PATCH", path, { user: "root", body });
    if (response === null || response.text.includes(unknownMark)) outcomes.unknown++;
    else outcomes[response.status === 503 ? "fail" : "ok"]++;
  }

  /** Records the rows at the end as reads. Returns what is wrong, or null. */
  check(rows: ReadonlyMap<number, RowState>): string | null {
    for (let id = 1; id <= itemIds; id++) {
      const found = rows.get(id) ?? null;
      const read: Effect = (state) => isSameItem(state, found) ? state : undefined;
      this.history.end(this.history.begin(id, `end ${JSON.stringify(found)}`, read), read);
    }
    return this.history.check();
  }
}

function upsertItem(
  id: number,
  row: Readonly<Record<string, unknown>>,
): ItemRequest {
  // A batch does not increment the version.
  const effect: Effect = (state) => ({ version: 1, ...state, ...row });
  return {
    ...{ id, method: "POST", path: "/api/items/batch/upsert", body: { items: [{ id, ...row }] } },
    effect,
    // The row may be created or deleted between the steps of the upsert, which then fails with 409.
    answered: (status) => status < 300 ? effect : (state) => status === 409 ? state : undefined,
  };
}

/** An order with an idempotency key. */
interface Order {
  readonly key: string;
  readonly path: string;
  readonly titles: readonly string[];
  status: number | null;
}

/** Creates orders, each with a key, and repeats each request until its outcome is known. */
export class OrderWriters {
  readonly #parts: WriterParts;
  readonly #orders: Order[] = [];

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  async orderUntil(user: string, isOver: () => boolean): Promise<void> {
    const { chance } = this.#parts;
    while (!isOver()) {
      const key = `${user}-${this.#orders.length}`;
      const kind = chance.pick(["orders", "paid", "paid", "orders/batch"]);
      const titles = kind === "orders/batch" ? [`${key}/1`, `${key}/2`] : [key];
      const order: Order = { key, path: `/api/${kind}`, titles, status: null };
      this.#orders.push(order);
      const sends = chance.once(3) ? 2 : 1;
      const sending = Array.from({ length: sends }, () => this.#sendUntilKnown(order, isOver));
      await Promise.all(sending);
      await sleep(10 + chance.below(40));
    }
  }

  /** Sends again the requests whose outcome is not known, for a while. */
  async confirm(maxMs: number): Promise<readonly string[]> {
    const until = performance.now() + maxMs;
    const isOver = () => performance.now() > until;
    const open = () => this.#orders.filter(({ status }) => status === null);
    await Promise.all(open().map((order) => this.#sendUntilKnown(order, isOver)));
    return open().map(({ key }) => key);
  }

  async #sendUntilKnown(order: Order, isOver: () => boolean): Promise<void> {
    const { requests, outcomes, member } = this.#parts;
    const { key, path, titles } = order;
    const items = titles.map((title) => ({ title }));
    const body = items.length > 1 ? { items } : items[0];
    const user = key.slice(0, key.lastIndexOf("-"));
    const sent = { user, body, headers: { "idempotency-key": key } };
    do {
      const response = await requests.send(member(), "POST", path, sent);
      const status = response?.status ?? null;
      outcomes[status === null ? "unknown" : status === 503 ? "fail" : "ok"]++;
      // After a refusal, no later request with the key was executed before this response.
      if (status === 201 || (status === 429 && order.status === null)) order.status = status;
      if (status !== null && status !== 503 && status !== 409) return;
      await sleep(100);
    } while (!isOver());
  }

  /** Compares the numbers of rows by title with the responses. */
  check(counts: ReadonlyMap<string, number>, mayLose: boolean): OrderFaults {
    const lost: string[] = [];
    const twice = [...counts].filter(([, count]) => count > 1).map(([title]) => title);
    for (const { status, titles } of this.#orders) {
      const found = titles.filter((title) => counts.has(title)).length;
      const isWrong = status === 201 ? found < titles.length : found % titles.length !== 0;
      if (isWrong) lost.push(...titles);
    }
    // What an asynchronous standby had not received is gone: these orders are not expected later.
    if (mayLose) { for (const one of this.#orders) one.status = null; }
    return { lost, twice };
  }
}

/** Titles of acknowledged or halved orders that are missing, and titles of repeated ones. */
export interface OrderFaults {
  readonly lost: readonly string[];
  readonly twice: readonly string[];
}
