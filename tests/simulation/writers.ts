import type { App } from "../../src/app/app.ts";
import { DatabaseError } from "../../src/db/database_error.ts";
import type { Database } from "../../src/db/database.ts";
import type { Chance } from "../live/checker/chance.ts";
import { type Effect, History, type RowState } from "./history.ts";
import {
  createItem,
  deleteItem,
  isSameItem,
  type ItemRequest,
  patchItem,
  readItem,
  recordItemRequest,
} from "./item_requests.ts";
import type { Scheduler } from "./scheduler.ts";

/** The rows of the items before each schedule, by id. */
export const firstItems: ReadonlyMap<number, RowState> = new Map([
  [1, item(1, 5, "s")],
  [2, item(1, 1, "t")],
  [3, item(2, 5, "u")],
  [4, item(3, 9, "v")],
  [5, item(null, 7, "w")],
]);

function item(projectId: number | null, rank: number, title: string): RowState {
  return { projectId, rank, title, version: 1 };
}

/** What the writers of a schedule share. */
export interface WritingParts {
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly outside: Database;
  app(): App;
  fail(text: string): void;
}

const ids = [1, 2, 3, 4, 5, 6, 7];

/** Sends writes and reads of items, by the API and by SQL, and records them in a history. */
export class ItemWriter {
  readonly history: History = new History(firstItems);
  readonly #parts: WritingParts;

  constructor(parts: WritingParts) {
    this.#parts = parts;
  }

  async writeOnce(): Promise<void> {
    if (this.#parts.chance.once(2)) await this.#writeByApi();
    else await this.#writeBySql();
  }

  async #writeByApi(): Promise<void> {
    const { chance } = this.#parts;
    const id = chance.pick(ids);
    const title = `t${chance.below(1_000_000)}`;
    switch (chance.below(10)) {
      case 0:
        return await this.#send(
          createItem(id, { projectId: this.#project(), rank: chance.below(10), title }),
        );
      case 1:
        return await this.#send(deleteItem(id));
      case 2:
      case 3:
        return await this.#send(patchItem(id, { projectId: this.#project() }));
      case 4:
      case 5:
        return await this.#giveProject();
      case 6:
        return await this.#send(patchItem(id, { rank: chance.below(10) }));
      case 7:
        return await this.#send(patchItem(id, { title }, 1 + chance.below(3)));
      case 8:
        return await this.#send(readItem(id));
      default:
        return await this.#send(patchItem(id, { title }));
    }
  }

  async #giveProject(): Promise<void> {
    const { chance } = this.#parts;
    const body = { ownerId: chance.pick(["ada", "bob"]) };
    await this.#request("PATCH", `/api/projects/${1 + chance.below(3)}`, { body });
  }

  /** Sends a request that concerns one row, and records it. */
  async #send(request: ItemRequest): Promise<void> {
    const { method, path, body, headers } = request;
    await recordItemRequest(
      this.history,
      request,
      () => this.#request(method, path, { body, headers }),
    );
  }

  async #request(method: string, path: string, { body, headers }: SentRequest) {
    const { scheduler, app, fail } = this.#parts;
    scheduler.trace?.(`    ${method} ${path} ${JSON.stringify(body ?? null)}`);
    const request = new Request(`http://test${path}`, {
      method,
      headers: { "x-user": "root", "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const response = await app().fetch(request);
    const { status } = response;
    const text = await response.text();
    scheduler.noteActivity();
    scheduler.trace?.(`    ${method} ${path}: ${status} ${text.slice(0, 200)}`);
    const isFine = [200, 201, 204, 404, 409, 412].includes(status) ||
      (status === 503 && scheduler.faults.length > 0);
    if (!isFine) fail(`${method} ${path}: ${status} ${text}`);
    return { status, text };
  }

  async #writeBySql(): Promise<void> {
    const { chance, outside, scheduler } = this.#parts;
    const writes = Array.from({ length: chance.pick([1, 1, 2, 3]) }, () => this.#statement());
    const texts = writes.map(({ text }) => text);
    scheduler.trace?.(`    ${texts.join("; ")}`);
    const operations = ids.flatMap((id) => {
      const effects = writes.flatMap(({ effectOn }) => effectOn(id) ?? []);
      const all: Effect = (state) =>
        effects.reduce<RowState>((before, effect) => effect(before) ?? null, state);
      // On Postgres, others can write a row before a later statement of the transaction reads it.
      const parts = outside.dialect.engine === "sqlite" ? [all] : effects;
      return parts.map((effect) => ({
        all: effect,
        operation: this.history.begin(id, texts.join("; "), effect),
      }));
    });
    try {
      const [first = ""] = texts;
      if (texts.length === 1) await outside.query({ text: first, values: [] });
      else {
        await outside.transaction(async (tx) => {
          for (const text of texts) await tx.query({ text, values: [] });
        });
      }
      for (const { operation, all } of operations) this.history.end(operation, all);
    } catch (error) {
      // On Postgres, two transactions of several statements can wait for each other.
      const isDeadlock = error instanceof DatabaseError && error.kind === "retryable";
      if (scheduler.faults.length === 0 && !isDeadlock) throw error;
      if (String(error).includes("unknown-outcome")) return;
      for (const { operation } of operations) this.history.drop(operation);
    }
  }

  #statement(): SqlWrite {
    const { chance } = this.#parts;
    const target = chance.pick(ids);
    const [rank, projectId] = [chance.below(10), this.#project()];
    const title = `s${chance.below(1_000_000)}`;
    const only = (effect: Effect) => (id: number) => id === target ? effect : null;
    const update = (some: Readonly<Record<string, unknown>>): Effect => (state) =>
      state === null ? null : { ...state, ...some };
    switch (chance.below(8)) {
      case 0:
        return {
          text: `INSERT INTO items (id, project_id, rank, title)
            VALUES (${target}, ${projectId ?? "NULL"}, ${rank}, '${title}')
            ON CONFLICT (id) DO UPDATE SET rank = excluded.rank`,
          effectOn: only((state) =>
            state === null ? { projectId, rank, title, version: 1 } : { ...state, rank }
          ),
        };
      case 1:
        return { text: `DELETE FROM items WHERE id = ${target}`, effectOn: only(() => null) };
      case 2:
      case 3:
        return {
          text: `UPDATE items SET project_id = ${projectId ?? "NULL"} WHERE id = ${target}`,
          effectOn: only(update({ projectId })),
        };
      case 4:
      case 5:
        return {
          text: `UPDATE projects SET owner_id = '${chance.pick(["ada", "bob"])}'
            WHERE id = ${1 + chance.below(3)}`,
          effectOn: () => null,
        };
      case 6:
        return {
          text: `UPDATE items SET rank = ${rank} WHERE project_id = ${projectId ?? 1}`,
          effectOn: () => (state) =>
            state?.["projectId"] === (projectId ?? 1) ? { ...state, rank } : state,
        };
      default:
        return {
          text: `UPDATE items SET title = '${title}' WHERE id = ${target}`,
          effectOn: only(update({ title })),
        };
    }
  }

  #project(): number | null {
    return this.#parts.chance.pick([1, 2, 3, null]);
  }

  /** Records the rows at the end as reads. */
  readAll(rows: ReadonlyMap<number, RowState>): void {
    for (const id of ids) {
      const found = rows.get(id) ?? null;
      const read: Effect = (state) => isSameItem(state, found) ? state : undefined;
      this.history.end(this.history.begin(id, `end ${JSON.stringify(found)}`, read), read);
    }
  }
}

interface SentRequest {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

interface SqlWrite {
  readonly text: string;
  /** Returns the effect on the row with an id, or null if there is none. */
  effectOn(id: number): Effect | null;
}
