import type { App } from "../../src/app/app.ts";
import { Chance } from "../live/checker/chance.ts";
import { type Interest, StreamFollower } from "./follower.ts";
import type { SimulatedService } from "./service.ts";

/** The result of one schedule. */
export interface ScheduleOutcome {
  readonly failure: string | null;
  readonly events: number;
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
  seed: number,
): Promise<ScheduleOutcome> {
  const schedule = new Schedule(service, seed);
  await schedule.prepare();
  return await schedule.run();
}

class Schedule {
  readonly #service: SimulatedService;
  readonly #chance: Chance;
  readonly #seed: number;
  readonly #followers: StreamFollower[] = [];
  readonly #failures: string[] = [];
  #writers = 0;

  constructor(service: SimulatedService, seed: number) {
    this.#service = service;
    this.#seed = seed;
    this.#chance = new Chance(seed);
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
    await run(
      `INSERT INTO items (id, project_id, rank, title) VALUES (1, 1, 5, 's'), (2, 1, 1, 't'),
        (3, 2, 5, 'u'), (4, 3, 9, 'v'), (5, NULL, 7, 'w')`,
    );
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
    scheduler.begin(this.#seed);
    for (let index = 0; index < writerCount; index++) void this.#write(index);
    for (const one of this.#followers) void this.#live(one);
    const isDone = () => this.#writers === 0;
    if (!await scheduler.run(isDone, maxSteps)) this.#fail("the writes do not end");
    await this.#reachEnd();
    scheduler.open();
    await scheduler.drain();
    await this.#compare();
    for (const one of this.#followers) one.disconnect();
    await scheduler.drain();
    for (const observation of this.#service.observations) {
      if (observation.kind !== "notice" && observation.kind !== "store_in_memory") {
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
    const moves = this.#chance.below(4);
    for (let move = 0; move < moves; move++) {
      await scheduler.pass("request", `client ${follower.name}`);
      if (!follower.isConnected) follower.connect(this.#app());
      else if (this.#chance.once(2)) follower.disconnect();
    }
  }

  async #write(writer: number): Promise<void> {
    this.#writers++;
    const { scheduler } = this.#service;
    const count = 1 + this.#chance.below(4);
    for (let index = 0; index < count; index++) {
      await scheduler.pass("request", `writer ${writer}`);
      if (this.#chance.once(2)) await this.#writeByApi();
      else await this.#writeBySql();
    }
    this.#writers--;
    scheduler.noteActivity();
  }

  async #writeByApi(): Promise<void> {
    const chance = this.#chance;
    const id = 1 + chance.below(7);
    const text = `t${chance.below(1_000_000)}`;
    switch (chance.below(8)) {
      case 0:
        return await this.#send("POST", "/api/items", {
          ...{ id, projectId: this.#project(), rank: chance.below(10), title: text },
        });
      case 1:
        return await this.#send("DELETE", `/api/items/${id}`);
      case 2:
      case 5:
        return await this.#send("PATCH", `/api/items/${id}`, { projectId: this.#project() });
      case 3:
      case 6:
        return await this.#send("PATCH", `/api/projects/${1 + chance.below(3)}`, {
          ownerId: chance.pick(["ada", "bob"]),
        });
      case 4:
        return await this.#send("PATCH", `/api/items/${id}`, { rank: chance.below(10) });
      default:
        return await this.#send("PATCH", `/api/items/${id}`, { title: text });
    }
  }

  async #send(method: string, path: string, body?: unknown): Promise<void> {
    const { scheduler } = this.#service;
    scheduler.trace?.(`    ${method} ${path} ${JSON.stringify(body ?? null)}`);
    const headers = { "x-user": "root", "content-type": "application/json" };
    const request = new Request(`http://test${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const response = await this.#app().fetch(request);
    scheduler.trace?.(`    ${method} ${path}: ${response.status}`);
    if (![200, 201, 204, 404, 409].includes(response.status)) {
      this.#fail(`${method} ${path}: ${response.status} ${await response.text()}`);
    } else await response.body?.cancel();
    scheduler.noteActivity();
  }

  async #writeBySql(): Promise<void> {
    const chance = this.#chance;
    const { outside, scheduler } = this.#service;
    const texts = Array.from({ length: chance.pick([1, 1, 2, 3]) }, () => this.#statement());
    scheduler.trace?.(`    ${texts.join("; ")}`);
    const [first] = texts;
    if (texts.length === 1 && first !== undefined) {
      await outside.query({ text: first, values: [] });
    } else {
      await outside.transaction(async (tx) => {
        for (const text of texts) await tx.query({ text, values: [] });
      });
    }
  }

  #statement(): string {
    const chance = this.#chance;
    const id = 1 + chance.below(7);
    switch (chance.below(8)) {
      case 0:
        return `INSERT INTO items (id, project_id, rank, title)
          VALUES (${id}, ${this.#project() ?? "NULL"}, ${chance.below(10)}, 'n${chance.below(1e6)}')
          ON CONFLICT (id) DO UPDATE SET rank = excluded.rank`;
      case 1:
        return `DELETE FROM items WHERE id = ${id}`;
      case 2:
      case 5:
        return `UPDATE items SET project_id = ${this.#project() ?? "NULL"} WHERE id = ${id}`;
      case 3:
      case 6:
        return `UPDATE projects SET owner_id = '${chance.pick(["ada", "bob"])}'
          WHERE id = ${1 + chance.below(3)}`;
      case 4:
        return `UPDATE items SET rank = ${chance.below(10)} WHERE project_id = ${this.#project()}`;
      default:
        return `UPDATE items SET title = 's${chance.below(1_000_000)}' WHERE id = ${id}`;
    }
  }

  #project(): number | null {
    return this.#chance.pick([1, 2, 3, null]);
  }

  /** Every client reads until it has the last rows, which every client may read. */
  async #reachEnd(): Promise<void> {
    const { outside, scheduler } = this.#service;
    for (const mark of [100, 102]) {
      let isWritten = false;
      void outside.query({
        text: `INSERT INTO items (id, project_id, rank, title)
          VALUES (${mark}, 90, 9, 'mark'), (${mark + 1}, 91, 9, 'mark')`,
        values: [],
      }).then(() => isWritten = true);
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

/** Virtual time in which every client must have received a change. */
const maxWaitMs = 60_000;
