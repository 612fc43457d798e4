import { relationStep } from "../../src/schema/relation.ts";
import { assert, assertEquals } from "@std/assert";
import type { ChangeLog } from "../../src/db/changes/change_log.ts";
import { allRows, comparison, type Filter } from "../../src/filter/filter.ts";
import { equalOperator } from "../../src/filter/operators/operator_registry.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { columnInfoOf, tableInfoOf } from "../../src/schema/table_like.ts";
import type { EventStream } from "../support/event_stream.ts";
import { testOnDialects } from "../support/http.ts";
import { Client, spied, type TestHub, untilIdle, withHub } from "./hub_support.ts";

const projects = table("projects", { id: integer().primaryKey(), ownerId: integer().notNull() });
const items = table("items", {
  id: integer().primaryKey(),
  projectId: integer().notNull(),
  rank: integer().notNull().default(0),
});

/** What happens to item 1, which can be listed while it is in project 1. */
const moves = {
  comes: `UPDATE items SET "projectId" = 1 WHERE id = 1`,
  goes: `UPDATE items SET "projectId" = 2 WHERE id = 1`,
  changes: "UPDATE items SET rank = rank + 1 WHERE id = 1",
  isDeleted: "DELETE FROM items WHERE id = 1",
  isTaken: `UPDATE projects SET "ownerId" = 2 WHERE id = 1`,
};
type Move = keyof typeof moves;

/** Each history begins at once; the rest of it comes at any two moments of what that sets off. */
const histories: readonly (readonly [Move, Move, Move])[] = [
  ["comes", "changes", "isDeleted"],
  ["goes", "comes", "goes"],
  ["changes", "isTaken", "goes"],
];

/** How a client reads while the history happens. */
type Habit = "reads on" | "is parked" | "joins" | "resumes";
const habits: readonly Habit[] = ["reads on", "is parked", "joins", "resumes"];

for (
  const { memory, maxHeldRows } of [
    { memory: "all rows are remembered", maxHeldRows: 10_000 },
    { memory: "no rows are remembered", maxHeldRows: 0 },
  ]
) {
  for (const habit of habits) {
    testOnDialects(
      `at any two moments of a write others may come: who ${habit} holds what is listed, ${memory}`,
      async (engine) => {
        let onMoment = () => Promise.resolve();
        const wrap = (log: ChangeLog) => spied(log, () => onMoment());
        const limits = { maxHeldRows, ...(habit === "is parked" ? { maxUnreadBytes: 1 } : {}) };
        await withHub(engine, items, { related: [projects], limits, wrap }, async (test) => {
          const found: string[] = [];
          for (const history of histories) {
            let moments = Infinity;
            for (let second = 0; second <= moments; second++) {
              for (let third = second; third <= moments; third++) {
                const schedule = new Schedule(test, history, [second, third]);
                onMoment = () => schedule.moment();
                const faults = await run(test, habit, schedule);
                onMoment = () => Promise.resolve();
                moments = Math.min(schedule.moments, maxMoments);
                const name = `${history.join(", ")} at ${second} and ${third}`;
                if (faults.length > 0) found.push(`${name}: ${faults.join("; ")}`);
              }
            }
          }
          assertEquals(found, []);
        });
      },
    );
  }
}

/** `MOMENTS=20` tries all of them, for some minutes. */
const maxMoments = Number(Deno.env.get("MOMENTS") ?? 3);

/** A history whose later writes come at two moments: looks at the log, before and after. */
class Schedule {
  readonly #test: TestHub;
  readonly #history: readonly [Move, Move, Move];
  readonly #at: readonly [number, number];
  #writing: Promise<void> | null = null;
  #written = 1;
  moments = 0;

  constructor(
    test: TestHub,
    history: readonly [Move, Move, Move],
    at: readonly [number, number],
  ) {
    this.#test = test;
    this.#history = history;
    this.#at = at;
  }

  get first(): Move {
    return this.#history[0];
  }

  /** Nothing continues before the writes of the moment are done. */
  async moment(): Promise<void> {
    if (this.#writing === null) return;
    const now = this.moments++;
    this.#writing = this.#writing.then(() => this.#writeUpTo(now));
    await this.#writing;
  }

  async begin(): Promise<void> {
    this.#writing = Promise.resolve();
    await this.#test.sql(moves[this.first]);
  }

  /** Waits until the log was looked at for all writes, and is looked at no more. */
  async end(): Promise<void> {
    await this.untilQuiet();
    const looked = this.moments;
    await this.#writeUpTo(Infinity);
    await this.untilQuiet();
    this.moments = looked;
    this.#writing = null;
  }

  async untilQuiet(): Promise<void> {
    for (let known = -1; known < this.moments;) {
      known = this.moments;
      await untilIdle(3);
    }
  }

  async #writeUpTo(now: number): Promise<void> {
    for (; this.#written <= 2 && (this.#at[this.#written - 1] ?? 0) <= now; this.#written++) {
      await this.#test.sql(moves[this.#history[this.#written] ?? "changes"]);
    }
  }
}

async function run(test: TestHub, habit: Habit, schedule: Schedule): Promise<readonly string[]> {
  await fill(test, schedule.first);
  // Pages that were read before are not shared any more.
  await test.advance(3_000);
  const follower = await Follower.open(test);
  const followers = [follower];
  // What others in its group hold is known otherwise than what it holds.
  if (habit === "resumes") followers.push(await Follower.open(test));
  if (habit === "is parked") {
    await test.sql("UPDATE items SET rank = rank + 1 WHERE id = 2");
    await untilIdle(3);
  }
  const open = () => test.subscribe({ scope: ownProjects() });
  const joining = habit === "joins" ? [open()] : [];
  await schedule.begin();
  if (habit === "joins") joining.push(open());
  followers.push(...(await Promise.all(joining)).map((stream) => new Follower(stream)));
  if (habit === "resumes") await follower.resumeAfterAnEvent(schedule);
  await schedule.end();
  // What comes together may come in any order: the second mark comes after all that was before.
  for (const mark of [100, 101]) {
    await test.sql(`INSERT INTO items ("id", "projectId") VALUES (${mark}, 3)`);
    for (const one of followers) await one.readUntil(({ rows }) => rows.has(mark));
  }
  const listed = await listedRows(test);
  const faults: string[] = [];
  for (const one of followers) {
    await one.close();
    const rows = [...one.client.rows.values()].map(({ id, rank }) => `${id}:${rank}`).sort();
    if (rows.join() !== listed.join()) faults.push(`holds ${rows}, listed are ${listed}`);
    // Events may be repeated after a reconnection.
    if (one !== follower || habit !== "resumes") faults.push(...one.client.faults);
  }
  return faults;
}

class Follower {
  readonly client = new Client();
  readonly #test: TestHub | null;
  #stream: EventStream;

  constructor(stream: EventStream, test: TestHub | null = null) {
    this.#stream = stream;
    this.#test = test;
  }

  static async open(test: TestHub): Promise<Follower> {
    const follower = new Follower(await test.subscribe({ scope: ownProjects() }), test);
    await follower.readUntil(({ isSynced }) => isSynced);
    await follower.#stream.untilToken();
    return follower;
  }

  async readUntil(isReached: (client: Client) => boolean): Promise<void> {
    while (!isReached(this.client)) {
      for (const event of await this.#stream.take(1)) this.client.take(event);
    }
  }

  /** Loses its connection between the first event and the position after it, and connects again. */
  async resumeAfterAnEvent(schedule: Schedule): Promise<void> {
    const token = this.#stream.lastEventId;
    assert(token !== "");
    const event = this.#stream.take(1).then(([event]) => event, () => undefined);
    await Promise.race([event, schedule.untilQuiet()]);
    await this.#stream.close();
    const received = await event;
    if (received !== undefined) this.client.take(received);
    // An invalidation leaves a client without a position.
    const resumeFrom = received?.type === "invalidate" ? null : token;
    if (this.#test === null) return;
    if (resumeFrom === null) this.client.take({ type: "invalidate", data: {} });
    this.#stream = await this.#test.subscribe({ scope: ownProjects(), resumeFrom });
  }

  async close(): Promise<void> {
    await this.#stream.close();
  }
}

async function fill({ sql }: TestHub, first: Move): Promise<void> {
  const place = first === "comes" ? 2 : 1;
  await sql("DELETE FROM items");
  await sql("DELETE FROM projects");
  await sql(`INSERT INTO projects ("id", "ownerId") VALUES (1, 1), (2, 2), (3, 1)`);
  await sql(`INSERT INTO items ("id", "projectId") VALUES (1, ${place}), (2, 3)`);
}

/** The items that the user may see, with their ranks. */
async function listedRows({ db }: TestHub): Promise<readonly string[]> {
  const text = `SELECT i.id, i.rank FROM items i JOIN projects p ON p.id = i."projectId"
    WHERE p."ownerId" = 1`;
  const { rows } = await db.driver.query({ text, values: [] });
  return rows.map(([id, rank]) => `${id}:${rank}`).sort();
}

/** The items of the projects of the user. */
function ownProjects(): Filter {
  const [own, target] = [tableInfoOf(items), tableInfoOf(projects)];
  const pair = { own: columnInfoOf(items.projectId), other: columnInfoOf(projects.id) };
  return {
    kind: "related",
    relation: {
      name: "project",
      owner: own,
      target,
      type: "belongsTo",
      filterable: true,
      toMany: false,
      steps: [relationStep(target, [pair])],
    },
    filter: comparison(equalOperator, columnInfoOf(projects.ownerId), [1]),
    links: allRows,
  };
}
