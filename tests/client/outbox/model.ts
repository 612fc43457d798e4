import { assert, assertEquals } from "@std/assert";
import type { JobConflict } from "../../../src/client/outbox/resolve_conflict.ts";
import { indexedDbStorage } from "../../../src/client/outbox/indexed_db_storage.ts";
import type { JobStorage } from "../../../src/client/outbox/job.ts";
import { memoryStorage } from "../../../src/client/outbox/memory_storage.ts";
import { ServiceError } from "../../../src/client/request/service_error.ts";
import { run } from "../../support/scratch.ts";
import {
  calm,
  createDevice,
  type Device,
  type Fate,
  openPage,
  type Page,
  type Service,
} from "./outbox_support.ts";

/** How the model runs. */
export interface OutboxModelOptions {
  readonly seed: number;
  readonly steps: number;
  /** A user's browser, with what its tabs share; without tabs unless given. */
  readonly device?: () => Device;
  readonly tabs?: number;
}

/** What became of the writes of a run. */
export interface OutboxModelReport {
  writes: number;
  acknowledged: number;
  conflicts: number;
  dead: number;
  reloads: number;
}

/** A user of the model: the tabs of a browser over one storage. */
interface User {
  readonly device: Device;
  readonly pages: MortalPage[];
  open(): MortalPage;
}

/** A page that stores nothing any more once it is killed. */
interface MortalPage extends Page {
  kill(): void;
}

function mortalStorage(
  storage: Promise<JobStorage>,
  isShared: boolean,
): JobStorage & { kill(): void } {
  let isDead = false;
  const around = async <T>(work: (storage: JobStorage) => Promise<T>) => {
    const opened = await storage;
    return isDead ? new Promise<T>(() => {}) : work(opened);
  };
  return {
    isShared,
    all: () => around((storage) => storage.all()),
    add: (job) => around((storage) => storage.add(job)),
    update: (order, change) => around((storage) => storage.update(order, change)),
    remove: (order) => around((storage) => storage.remove(order)),
    kill: () => void (isDead = true),
  };
}

/**
 * Lets two users and another program append tokens to the logs of rows, over a network that loses
 * requests and answers, with reloads and offline spells, and then brings everything to rest. Each
 * acknowledged token must have been appended exactly once, and no write may have removed one.
 */
export class OutboxModel {
  readonly report: OutboxModelReport = {
    ...{ writes: 0, acknowledged: 0, conflicts: 0, dead: 0, reloads: 0 },
  };
  readonly #service: Service;
  readonly #options: OutboxModelOptions;
  readonly #users: readonly User[];
  readonly #acknowledged = new Set<string>();
  readonly #refused = new Set<string>();
  #state: number;
  #tokens = 0;
  #isCalm = false;
  /** The last of the writes before the last rest. */
  #restedAt = 0;

  constructor(service: Service, options: OutboxModelOptions) {
    this.#service = service;
    this.#options = options;
    this.#state = options.seed * 2654435761 >>> 0 || 1;
    service.fate = () => this.#fate();
    this.#users = ["ada", "bob"].map((name) => this.#createUser(name));
  }

  async run(): Promise<OutboxModelReport> {
    const { db } = this.#service;
    await run(db, "CREATE TABLE audit (n INTEGER PRIMARY KEY, id INTEGER, log TEXT)");
    for (const event of ["INSERT", "UPDATE"]) {
      const trigger = `CREATE TRIGGER audit_${event} AFTER ${event} ON posts BEGIN `;
      await run(db, `${trigger} INSERT INTO audit (id, log) VALUES (new.id, new.log); END`);
    }
    for (let step = 0; step < this.#options.steps; step++) {
      await this.#step();
      if (step % 250 === 249) await this.#rest();
    }
    await this.#rest();
    for (const { pages } of this.#users) for (const { outbox } of pages) outbox.close();
    return this.report;
  }

  /** From 0 up to, but not including 1 (xorshift32). */
  #chance(): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) / 2 ** 32;
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.#chance() * list.length)];
  }

  #fate(): Fate {
    const at = this.#isCalm ? 1 : this.#chance();
    if (at < 0.1) return "lost";
    if (at < 0.2) return "answer lost";
    if (at > 0.23) return "arrives";
    const [status, code] = at < 0.215 ? [503, "OVERLOADED"] : [429, "RATE_LIMIT_EXCEEDED"];
    const headers = { "content-type": "application/problem+json", "retry-after": "2" };
    return new Response(JSON.stringify({ code, detail: "Later" }), { status, headers });
  }

  #createUser(name: string): User {
    const device = this.#options.device?.() ?? createDevice();
    const { indexedDB } = device.environment;
    const storage = !indexedDB
      ? Promise.resolve(memoryStorage())
      : indexedDbStorage(indexedDB, "jobs", device.environment);
    const onConflict = ({ mine, theirs }: JobConflict) => {
      this.report.conflicts++;
      if (theirs === null || this.#chance() < 0.1) return null;
      return mine === null ? {} : { log: `${theirs.log}${tokenOf(mine.log)}` };
    };
    const identity = `${name} ${crypto.randomUUID()}`;
    const onDead = () => void this.report.dead++;
    const open = () => {
      const own = mortalStorage(storage, Boolean(indexedDB));
      const options = { storage: own, identity, onConflict, onDead };
      const page = openPage(this.#service, device, options);
      page.lists.echoesAtOnce = false;
      return { ...page, kill: own.kill };
    };
    return { device, open, pages: Array.from({ length: this.#options.tabs ?? 1 }, open) };
  }

  async #step(): Promise<void> {
    const user = this.#pick(this.#users);
    const page = this.#pick(user?.pages ?? []);
    if (user === undefined || page === undefined) return;
    const at = this.#chance();
    if (at < 0.02) this.#reload(user, page);
    else if (at < 0.05) {
      user.device.isOnline = !user.device.isOnline;
      user.device.wake();
    } else if (at < 0.3) await this.#refresh(page);
    else if (at < 0.5) user.device.advance(this.#chance() * 5_000);
    else if (at < 0.55) await this.#writeElsewhere();
    else if (at < 0.7) await this.#wait(user);
    else if (page.outbox.get().jobs.length < 12) this.#write(page);
  }

  /** Lets the event loop turn: databases and channels of tabs take more turns than answers. */
  async #wait({ pages }: User): Promise<void> {
    for (let turns = pages.length > 1 ? 30 : 1; turns > 0; turns--) {
      await new Promise((resolve) => setTimeout(resolve));
    }
  }

  #reload(user: User, page: MortalPage): void {
    this.report.reloads++;
    page.kill();
    page.outbox.close();
    user.pages[user.pages.indexOf(page)] = user.open();
  }

  #write(page: Page): void {
    const { api, outbox, lists } = page;
    // A row whose creation still waits for its answer is addressed by that write, not by its key.
    const waiting = outbox.get().jobs.map(({ id }) => lists.created.get(id));
    const row = this.#pick([...lists.rows.values()].filter(({ id }) => !waiting.includes(id)));
    const token = `${this.#tokens++};`;
    this.report.writes++;
    if (row === undefined || this.#chance() < 0.15) {
      const creation = outbox.create(api.posts, { log: token });
      this.#follow(creation.done, token);
      for (let log = token; this.#chance() < 0.4;) {
        const next = `${this.#tokens++};`;
        this.#follow(outbox.update(api.posts, creation, { log: log += next }).done, next);
      }
    } else if (this.#chance() < 0.05 && [...lists.rows.values()].at(-1) !== row) {
      // Not the newest row: SQLite would give its id, and so its tag, to another one.
      outbox.delete(api.posts, Number(row.id)).done.catch(() => {});
    } else {
      const log = seenLog(page, row) + token;
      this.#follow(outbox.update(api.posts, Number(row.id), { log }).done, token);
    }
  }

  #follow(done: Promise<unknown>, token: string): void {
    done.then(() => {
      this.report.acknowledged++;
      this.#acknowledged.add(token);
    }, (error) => {
      // A write that was taken back may have been on its way.
      if (error instanceof ServiceError && error.slug !== "discarded") this.#refused.add(token);
    });
  }

  /** Another program, which knows what it overwrites. */
  async #writeElsewhere(): Promise<void> {
    const row = this.#pick(await this.#service.posts());
    if (row === undefined) return;
    const token = `${this.#tokens++};`;
    const text = "UPDATE posts SET log = log || ?, version = version + 1 WHERE id = ?";
    await run(this.#service.db, text, token, row.id);
  }

  /** As when a live list receives everything up to now: rows, and the events of own writes. */
  async #refresh({ lists }: Page): Promise<void> {
    // One statement reads both: what the lists show, and which writes they confirm. A row that was
    // written may be deleted since.
    const { rows } = await run(
      this.#service.db,
      "SELECT id, log, version FROM posts UNION ALL SELECT id, log, NULL FROM audit WHERE n > ?",
      this.#restedAt,
    );
    const done = new Map<string, unknown>();
    lists.rows.clear();
    for (const [id, log, version] of rows) {
      if (version === null) done.set(tokenOf(log), id);
      else lists.rows.set(`/api/posts/${id}`, { id, log, version, _etag: `W/"${version}"` });
    }
    for (const [id, { kind, key, fields }] of [...lists.shown]) {
      const token = tokenOf(fields.log);
      if (kind === "create" && done.has(token)) lists.created.set(id, done.get(token));
      const isGone = kind !== "create" && key !== null &&
        !lists.rows.has(`/api/posts/${JSON.parse(key)}`);
      if (isGone || done.has(token)) lists.confirm(id);
    }
  }

  /** Ends all faults, and waits until nothing is left to send; then compares. */
  async #rest(): Promise<void> {
    this.#isCalm = true;
    for (let round = 0;; round++) {
      assert(round < 500, "the outboxes come to rest");
      let left = 0;
      for (const { device, pages } of this.#users) {
        device.isOnline = true;
        device.wake();
        for (const page of pages) {
          for (const { id, state, path, body } of page.outbox.get().jobs) {
            left++;
            if (state !== "dead") continue;
            const row = page.lists.rows.get(path);
            if (row === undefined || body === null || this.#chance() < 0.5) {
              await page.outbox.discard(id);
            } else await page.outbox.revive(id, { log: `${row.log}${tokenOf(body.log)}` });
          }
          await this.#refresh(page);
          left += page.lists.shown.size;
        }
        device.advanceToNext();
      }
      await calm(this.#service);
      if (left === 0) break;
    }
    await this.#check();
    this.#isCalm = false;
  }

  async #check(): Promise<void> {
    const logs = new Map<number, string>();
    const times = new Map<string, number>();
    const { rows } = await run(this.#service.db, "SELECT id, log FROM audit ORDER BY n");
    this.#restedAt = rows.length;
    for (const [id, log] of rows) {
      const token = tokenOf(log);
      assertEquals(log, (logs.get(Number(id)) ?? "") + token, `row ${id} has lost a write`);
      logs.set(Number(id), String(log));
      times.set(token, (times.get(token) ?? 0) + 1);
    }
    for (const row of await this.#service.posts()) assertEquals(row.log, logs.get(row.id));
    for (const [token, count] of times) assertEquals(count, 1, `${token} was done ${count} times`);
    for (const token of this.#acknowledged) assert(times.has(token), `${token} was not done`);
  }
}

/** What a user reads: the row with the writes that are shown over it. */
function seenLog({ lists }: Page, row: Readonly<Record<string, unknown>>): string {
  let { log } = row;
  for (const { kind, key, of, fields } of lists.shown.values()) {
    // Lists do not show a creation over the row that it has led to.
    if (kind === "create") continue;
    if (String(key ? JSON.parse(key) : lists.created.get(of ?? "")) === String(row.id)) {
      log = fields.log ?? log;
    }
  }
  return String(log);
}

/** The last token of a log. */
function tokenOf(log: unknown): string {
  return /[^;]*;$/.exec(String(log))?.[0] ?? "";
}
