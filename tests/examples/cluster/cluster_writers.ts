/** The writers of a round: each one creates orders with and without a key, and changes an order. */
import { sleep } from "../../../src/runtime/runtime.ts";
import type { Requests } from "../../nemesis/clients.ts";

/** A row of the table, as Postgres has it. */
export interface OrderRow {
  readonly id: number;
  readonly customer: string;
  readonly title: string;
  readonly quantity: number;
}

interface Create {
  readonly title: string;
  readonly key: string | null;
  isAcknowledged: boolean;
}

/** What is wrong with the rows of a writer. */
export interface WriterFaults {
  readonly lost: readonly string[];
  readonly twice: readonly string[];
}

export class ClusterWriter {
  readonly #customer: string;
  readonly #token: string;
  readonly #round: string;
  readonly #requests: Requests;
  readonly #url: string;
  readonly #acknowledged: () => void;
  readonly #creates: Create[] = [];
  #ownId: number | null = null;
  /** The quantity of the last acknowledged change, and the quantities that may have replaced it. */
  #quantity = 1;
  readonly #uncertain = new Set<number>();
  acknowledgements = 0;
  failures = 0;

  constructor(
    { customer, token, round, requests, url, acknowledged }: {
      readonly customer: string;
      readonly token: string;
      readonly round: string;
      readonly requests: Requests;
      readonly url: string;
      /** Called for each acknowledged write. */
      readonly acknowledged: () => void;
    },
  ) {
    this.#customer = customer;
    this.#token = token;
    this.#round = round;
    this.#requests = requests;
    this.#url = url;
    this.#acknowledged = acknowledged;
  }

  /** Writes, and then repeats for `confirmMs` each request with a key whose outcome is unknown. */
  async writeUntil(
    isOver: () => boolean,
    { pauseMs, confirmMs }: { readonly pauseMs: number; readonly confirmMs: number },
  ): Promise<void> {
    for (let count = 0; !isOver(); count++) {
      if (this.#ownId === null) await this.#createOwn();
      else if (count % 3 === 0) await this.#create(`keyed ${count}`, true, isOver);
      else if (count % 3 === 1) await this.#create(`plain ${count}`, false, isOver);
      else await this.#change(this.#ownId, 2 + count);
      await sleep(pauseMs);
    }
    const until = performance.now() + confirmMs;
    for (const one of this.#creates) {
      if (confirmMs === 0 || one.key === null || one.isAcknowledged) continue;
      await this.#sendCreate(one, () => performance.now() > until);
    }
  }

  /** Titles of keyed orders without a known outcome. */
  open(): readonly string[] {
    return this.#creates.filter(({ key, isAcknowledged }) => key !== null && !isAcknowledged)
      .map(({ title }) => title);
  }

  check(rows: readonly OrderRow[]): WriterFaults {
    const counts = new Map<string, number>();
    for (const { title } of rows) counts.set(title, (counts.get(title) ?? 0) + 1);
    const twice = [...counts].filter(([, count]) => count > 1).map(([title]) => title);
    const lost = this.#creates.filter(({ title, isAcknowledged }) =>
      isAcknowledged && !counts.has(title)
    ).map(({ title }) => title);
    if (this.#ownId !== null) {
      const quantity = rows.find(({ id }) => id === this.#ownId)?.quantity ?? null;
      const isRight = quantity === this.#quantity ||
        (quantity !== null && this.#uncertain.has(quantity));
      if (!isRight) lost.push(`${this.#customer} has ${quantity} and not ${this.#quantity}`);
    }
    return { lost, twice };
  }

  async #createOwn(): Promise<void> {
    const title = this.#titleOf("own");
    const response = await this.#send("POST", "", { title }, title);
    if (response?.status === 201) this.#ownId = Number(JSON.parse(response.text).id);
    else await sleep(100);
  }

  async #create(name: string, isKeyed: boolean, isOver: () => boolean): Promise<void> {
    const title = this.#titleOf(name);
    const one: Create = { title, key: isKeyed ? title : null, isAcknowledged: false };
    this.#creates.push(one);
    await this.#sendCreate(one, isOver);
  }

  async #sendCreate(one: Create, isOver: () => boolean): Promise<void> {
    const { title, key } = one;
    do {
      const response = await this.#send("POST", "", { title }, key);
      one.isAcknowledged = response?.status === 201;
      if (one.isAcknowledged || key === null) return;
      await sleep(100);
    } while (!isOver());
  }

  async #change(id: number, quantity: number): Promise<void> {
    const response = await this.#send("PATCH", `/${id}`, { quantity }, null);
    if (response?.status !== 200) {
      this.#uncertain.add(quantity);
      return;
    }
    this.#quantity = quantity;
    this.#uncertain.clear();
  }

  async #send(
    method: string,
    path: string,
    body: Readonly<Record<string, unknown>>,
    key: string | null,
  ): Promise<{ readonly status: number; readonly text: string } | null> {
    const headers = {
      authorization: `Bearer ${this.#token}`,
      ...(key === null ? {} : { "idempotency-key": key.replaceAll(" ", "-") }),
    };
    const sent = { user: "", body, headers };
    const service = { url: this.#url };
    const response = await this.#requests.send(service, method, `/api/orders${path}`, sent);
    if (response !== null && response.status < 300) {
      this.acknowledgements++;
      this.#acknowledged();
    } else this.failures++;
    return response;
  }

  #titleOf(name: string): string {
    return `${this.#round} ${this.#customer} ${name}`;
  }
}
