import type { App } from "../../src/app/app.ts";
import { Chance } from "../live/checker/chance.ts";
import { type Interest, StreamFollower } from "./follower.ts";
import { OrderWriter } from "./orders.ts";
import type { SimulatedService } from "./service.ts";
import { firstItems, ItemWriter } from "./writers.ts";

/** The result of one schedule. */
export interface ScheduleOutcome {
  readonly failure: string | null;
  readonly events: number;
}

export interface ScheduleOptions {
  readonly seed: number;
  /** True for schedules without faults and without orders, and for the rules of streams only. */
  readonly onlyStreams: boolean;
}

const users = ["ada", "ada", "bob", "bob", "root"] as const;
const queries = [
  ...["", "", "", "filter=rank>3"],
  ...["include=project", "filter=rank>3&include=project"],
];
const maxSteps = 20_000;
const writerCount = 3;

/** Runs one schedule: a few clients and writers, in the order that the seed decides. */
export async function runSchedule(
  service: SimulatedService,
  { seed, onlyStreams }: ScheduleOptions,
): Promise<ScheduleOutcome> {
  const schedule = new Schedule(service, seed, onlyStreams);
  await schedule.prepare();
  return await schedule.run();
}

class Schedule {
  readonly #service: SimulatedService;
  readonly #chance: Chance;
  readonly #seed: number;
  readonly #onlyStreams: boolean;
  readonly #followers: StreamFollower[] = [];
  readonly #failures: string[] = [];
  readonly #items: ItemWriter;
  readonly #orders: OrderWriter;
  #writers = 0;

  constructor(service: SimulatedService, seed: number, onlyStreams: boolean) {
    this.#service = service;
    this.#seed = seed;
    this.#onlyStreams = onlyStreams;
    this.#chance = new Chance(seed);
    const parts = {
      ...{ scheduler: service.scheduler, chance: this.#chance, outside: service.outside },
      app: () => this.#app(),
      fail: (text: string) => this.#fail(text),
    };
    this.#items = new ItemWriter(parts);
    this.#orders = new OrderWriter(parts, `u${seed}`, service.storage);
  }

  async prepare(): Promise<void> {
    const { base, scheduler, observations } = this.#service;
    const run = (text: string) => base.query({ text, values: [] });
    await run("DELETE FROM items");
    await run("DELETE FROM projects");
    await run(
      `INSERT INTO projects (id, owner_id, name) VALUES (1, 'ada', 'a'), (2, 'bob', 'b'),
        (3, 'ada', 'c'), (90, 'ada', 'ada'), (91, 'bob', 'bob')`,
    );
    for (const [id, row] of firstItems) {
      const { projectId, rank, title } = row ?? {};
      await run(
        `INSERT INTO items (id, project_id, rank, title)
          VALUES (${id}, ${projectId ?? "NULL"}, ${rank}, '${title}')`,
      );
    }
    // Pages of a snapshot are shared for two seconds, and polls find the writes above.
    await scheduler.advance(3_000);
    observations.length = 0;
  }

  async run(): Promise<ScheduleOutcome> {
    const { scheduler } = this.#service;
    const chance = this.#chance;
    const count = 2 + chance.below(3);
    for (let index = 0; index < count; index++) {
      const interest: Interest = { user: chance.pick(users), query: chance.pick(queries) };
      this.#followers.push(new StreamFollower(interest, scheduler));
    }
    // Some clients are there before the first write.
    const early = chance.pick([1, 1, 2, 4]);
    for (const one of this.#followers) if (chance.once(early)) one.connect(this.#app());
    if (!chance.once(4)) await this.#rest();
    const hasFaults = chance.once(2) && !this.#onlyStreams;
    scheduler.begin(this.#seed, hasFaults);
    for (let index = 0; index < writerCount; index++) void this.#write(index);
    for (const one of this.#followers) void this.#live(one);
    const { dialect } = this.#service.base;
    // A statement that hangs can block the deletion for too long.
    if (chance.once(6) && dialect.engine === "sqlite") void this.#forgetChanges().catch(() => {});
    const isDone = () => this.#writers === 0;
    if (!await scheduler.run(isDone, maxSteps)) this.#fail("the writes do not end");
    scheduler.endFaults();
    await this.#reachEnd();
    scheduler.open();
    await scheduler.drain();
    await this.#compare();
    if (!this.#onlyStreams) await this.#checkWrites();
    for (const one of this.#followers) one.disconnect();
    await scheduler.drain();
    const { observations } = this.#service;
    for (const observation of this.#onlyStreams ? [] : observations) {
      const isFine = scheduler.faults.length > 0 && faultKinds.has(observation.kind);
      if (observation.kind !== "notice" && !isFine) {
        this.#fail(`observed ${Deno.inspect(observation)}`);
      }
    }
    return {
      failure: this.#failures.length === 0 ? null : this.#failures.join("\n"),
      events: this.#followers.reduce((sum, { events }) => sum + events, 0),
    };
  }

  async #rest(): Promise<void> {
    await this.#service.scheduler.drain();
    await this.#service.scheduler.advance(200);
  }

  /** One client: it connects, and sometimes disconnects and connects again. */
  async #live(follower: StreamFollower): Promise<void> {
    const { scheduler } = this.#service;
    const moves = this.#chance.pick([0, 1, 3, 6]);
    for (let move = 0; move < moves; move++) {
      await scheduler.pass("request", `client ${follower.name}`);
      if (!follower.isConnected) follower.connect(this.#app());
      else if (this.#chance.once(2)) follower.disconnect(this.#chance.below(100) / 100);
    }
  }

  /** Deletes recorded changes, as the service does after hours without a reader. */
  async #forgetChanges(): Promise<void> {
    const { base, scheduler } = this.#service;
    for (let waits = this.#chance.below(12); waits > 0; waits--) {
      await scheduler.pass("request", "waits");
    }
    await base.transaction(async (tx) => {
      const run = (text: string) => tx.query({ text, values: [] });
      const last = `(SELECT max(seq) FROM "_service_changes")`;
      const mark = `(SELECT mark FROM "_service_changes" WHERE seq = ${last})`;
      await run(`UPDATE "_service_meta" SET value = CAST(${last} AS TEXT) WHERE name = 'floor'`);
      await run(`UPDATE "_service_meta" SET value = CAST(${mark} AS TEXT)
        WHERE name = 'floor_mark'`);
      await run(`DELETE FROM "_service_changes"`);
    });
    scheduler.trace?.("    all changes are forgotten");
  }

  async #write(writer: number): Promise<void> {
    this.#writers++;
    const { scheduler } = this.#service;
    const count = 1 + this.#chance.below(4);
    for (let index = 0; index < count; index++) {
      await scheduler.pass("request", `writer ${writer}`);
      if (this.#chance.once(4) && !this.#onlyStreams) await this.#orders.orderOnce();
      else await this.#items.writeOnce();
    }
    this.#writers--;
    scheduler.noteActivity();
  }

  /** Every client reads until it has the last rows, which every client may read. */
  async #reachEnd(): Promise<void> {
    const { outside, scheduler } = this.#service;
    for (const mark of [100, 102]) {
      let isWritten = false;
      const text = `INSERT INTO items (id, project_id, rank, title)
        VALUES (${mark}, 90, 9, 'mark'), (${mark + 1}, 91, 9, 'mark') ON CONFLICT DO NOTHING`;
      void this.#untilDone(() => outside.query({ text, values: [] })).then(() => isWritten = true);
      const deadlineMs = scheduler.nowMs + maxWaitMs;
      const isThere = () => {
        if (!isWritten) return false;
        const late = this.#followers.filter((one) => !hasMark(one, mark));
        for (const one of late) if (!one.isConnected) one.connect(this.#app());
        return late.length === 0 || scheduler.nowMs > deadlineMs;
      };
      await scheduler.run(isThere, maxSteps);
      for (const one of this.#followers) {
        if (!hasMark(one, mark)) this.#blame(one, `does not receive the row ${mark}`);
      }
      if (this.#failures.length > 0) return;
    }
  }

  /** Repeats work that an earlier fault still blocks. */
  async #untilDone(work: () => Promise<unknown>): Promise<void> {
    for (let tries = 1;; tries++) {
      try {
        return void await work();
      } catch (error) {
        if (tries === 10) return this.#fail(`the last rows are not written: ${error}`);
      }
    }
  }

  async #compare(): Promise<void> {
    for (const one of this.#followers) {
      for (const fault of one.faults) this.#blame(one, fault);
      const { user, query } = one.interest;
      const request = new Request(`http://test/api/items?limit=100&${query}`, {
        headers: { "x-user": user },
      });
      const response = await this.#app().fetch(request);
      const listed = (await response.json()).items.map((item: unknown) => JSON.stringify(item));
      const held = [...one.rows.values()].map(({ _etag, ...item }) => JSON.stringify(item));
      if (listed.toSorted().join("\n") === held.toSorted().join("\n")) continue;
      this.#blame(one, `holds\n${held.toSorted().join("\n")}\nlisted are\n${listed.join("\n")}`);
    }
  }

  async #checkWrites(): Promise<void> {
    const { base } = this.#service;
    const text = "SELECT id, project_id, rank, title, version FROM items";
    const { rows } = await base.query({ text, values: [] });
    this.#items.readAll(
      new Map(rows.map(([id, projectId, rank, title, version]) => [
        Number(id),
        {
          projectId: projectId === null ? null : Number(projectId),
          ...{ rank: Number(rank), title, version: Number(version) },
        },
      ])),
    );
    const fault = this.#items.history.check();
    if (fault !== null) this.#fail(fault);
    await this.#orders.check(base);
  }

  #blame({ name, story }: StreamFollower, text: string): void {
    this.#fail(`${name}: ${text}\n  ${story.join("\n  ")}`);
  }

  #fail(text: string): void {
    this.#failures.push(text);
  }

  #app(): App {
    return this.#chance.pick(this.#service.apps);
  }
}

function hasMark({ rows, isSynced, interest: { user } }: StreamFollower, mark: number): boolean {
  return isSynced && rows.has(user === "bob" ? mark + 1 : mark);
}

/** What the service may report if calls have failed. */
const faultKinds: ReadonlySet<string> = new Set([
  ...["request_failed", "stream_failed", "changes_unread", "live_upkeep_failed"],
  ...["idempotency_store_failed", "limits_unshared"],
]);

/** Virtual time in which every client must have received a change. */
const maxWaitMs = 60_000;
