import type { Database } from "../../src/db/database.ts";
import { unknownMark } from "./item_requests.ts";
import { orderBudget } from "./service.ts";
import type { WritingParts } from "./writers.ts";

interface Order {
  readonly key: string;
  readonly isPaid: boolean;
  /** The statuses of all requests with the key. */
  readonly statuses: number[];
  hasUnknown: boolean;
}

/** Creates orders with idempotency keys and a budget, and sends unconfirmed requests again. */
export class OrderWriter {
  readonly #parts: WritingParts;
  readonly #user: string;
  readonly #storage: "kv" | "db";
  readonly #orders: Order[] = [];

  constructor(parts: WritingParts, user: string, storage: "kv" | "db") {
    this.#parts = parts;
    this.#user = user;
    this.#storage = storage;
  }

  /** Creates one order. Sometimes two requests with the same key run at the same time. */
  async orderOnce(): Promise<void> {
    const { chance } = this.#parts;
    const key = `${this.#user}-${this.#orders.length}`;
    const order: Order = { key, isPaid: chance.once(2), statuses: [], hasUnknown: false };
    this.#orders.push(order);
    const first = this.#sendUntilDone(order);
    if (chance.once(3)) await Promise.all([first, this.#sendUntilDone(order)]);
    else await first;
  }

  async #sendUntilDone(order: Order): Promise<void> {
    const { scheduler } = this.#parts;
    for (let tries = 0; tries < maxTries; tries++) {
      const status = await this.#send(order);
      if (status !== 503 && status !== 409) return;
      await scheduler.pass("request", `repeats ${order.key}`);
    }
  }

  async #send(order: Order): Promise<number> {
    const { scheduler, app, fail } = this.#parts;
    const { key, isPaid } = order;
    const path = isPaid ? "/api/paid" : "/api/orders";
    const request = new Request(`http://test${path}`, {
      method: "POST",
      headers: {
        "x-user": this.#user,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify({ title: key }),
    });
    scheduler.trace?.(`    POST ${path} ${key}`);
    const response = await app().fetch(request);
    const text = await response.text();
    scheduler.noteActivity();
    const { status } = response;
    scheduler.trace?.(`    POST ${path} ${key}: ${status} ${text.slice(0, 200)}`);
    order.statuses.push(status);
    if (status === 503 && text.includes(unknownMark)) order.hasUnknown = true;
    const isFine = [201, 409].includes(status) || (status === 429 && isPaid) ||
      (status === 503 && scheduler.faults.length > 0);
    if (!isFine) fail(`POST ${path} ${key}: ${status} ${text}`);
    return status;
  }

  /** Compares the rows with the responses. */
  async check(base: Database): Promise<void> {
    const { fail } = this.#parts;
    for (const { key, isPaid, statuses, hasUnknown } of this.#orders) {
      const text = `SELECT count(*) FROM ${isPaid ? "paid" : "orders"} WHERE title = '${key}'`;
      const { rows } = await base.query({ text, values: [] });
      const count = Number(rows[0]?.[0]);
      const story = `${key} (${this.#storage}): ${statuses}; ${this.#parts.scheduler.faults}`;
      if (count > 1 && !this.#mayRepeat(hasUnknown)) fail(`${count} executions of ${story}`);
      if (statuses.includes(201) && count === 0) fail(`no execution of ${story}`);
      const isRefused = statuses.every((status) => status === 429);
      if (isRefused && count > 0) fail(`a refused execution of ${story}`);
    }
    await this.#checkBudget(base);
  }

  async #checkBudget(base: Database): Promise<void> {
    const { scheduler, fail } = this.#parts;
    const text = `SELECT count(*) FROM paid WHERE title LIKE '${this.#user}-%'`;
    const { rows } = await base.query({ text, values: [] });
    const count = Number(rows[0]?.[0]);
    const asked = this.#orders.filter(({ isPaid }) => isPaid).length;
    const { capacity } = orderBudget;
    const isSound = scheduler.faults.length === 0;
    // Without its store, each process has the whole budget.
    if (count > capacity * (isSound ? 1 : 2)) fail(`${count} paid orders, capacity ${capacity}`);
    if (isSound && count < Math.min(asked, capacity)) {
      fail(`${count} paid orders of ${asked}, capacity ${capacity}`);
    }
  }

  /**
   * With `kv`, a repeated request can be executed again if the response of the first one was not
   * stored (docs/contracts/idempotency.md).
   */
  #mayRepeat(hasUnknown: boolean): boolean {
    return this.#storage === "kv" && (hasUnknown || this.#parts.scheduler.faults.length > 0);
  }
}

const maxTries = 6;
