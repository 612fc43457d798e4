import { assertEquals } from "@std/assert";
import type { ChangeLog } from "../../src/db/changes/change_log.ts";
import { allRows, comparison, type Filter } from "../../src/filter/filter.ts";
import { equalOperator } from "../../src/filter/operators/operator_registry.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { type RelationStep, relationStep } from "../../src/schema/relation.ts";
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

const noLongerOwned = `UPDATE projects SET "ownerId" = 2 WHERE id = 1`;

/** Each takes rows from what the user may see, and is followed by the other one at any moment. */
const writes: readonly { readonly first: string; readonly then: string }[] = [
  { first: noLongerOwned, then: `UPDATE items SET "projectId" = 2 WHERE id = 1` },
  { first: "DELETE FROM projects WHERE id = 1", then: "DELETE FROM items WHERE id = 1" },
  { first: noLongerOwned, then: `UPDATE items SET "projectId" = 3 WHERE id = 1` },
  { first: noLongerOwned, then: `UPDATE items SET "projectId" = 1 WHERE id = 4` },
];

/** How many events a client has left unread before: one more may be too many for it. */
for (const unread of [0, 1]) {
  testOnDialects(
    `rows that leave their parents while a right is taken are removed, ${unread} events being unread`,
    async (engine) => {
      let onMoment = () => Promise.resolve();
      const wrap = (log: ChangeLog) => spied(log, () => onMoment());
      const limits = unread > 0 ? { maxUnreadBytes: 1 } : {};
      await withHub(engine, items, { related: [projects], limits, wrap }, async (test) => {
        for (const { first, then } of writes) {
          let moments = 0;
          for (let when = 0; when === 0 || when < moments; when++) {
            await fill(test);
            // Pages that were read before this are not shared any more.
            await test.advance(3_000);
            const follower = await Follower.open(test);
            for (let left = unread; left > 0; left--) {
              await test.sql("UPDATE items SET rank = rank + 1 WHERE id = 4");
              await untilIdle(3);
            }
            moments = 0;
            let writing = Promise.resolve();
            onMoment = () => {
              if (moments++ === when) writing = test.sql(then);
              return writing;
            };
            await test.sql(first);
            await untilLooked(() => moments);
            onMoment = () => Promise.resolve();
            await writing;
            await follower.check(`${first}; at ${when} ${then}`);
          }
          assertEquals(moments >= 2, true, `${moments} moments`);
        }
      });
    },
  );
}

/** Waits until the log was looked at for a write, before and after, and is looked at no more. */
async function untilLooked(moments: () => number): Promise<void> {
  for (let known = 0; known < 2 || known < moments();) {
    known = moments();
    await untilIdle(3);
  }
}

/** A client that follows the items of its projects. */
class Follower {
  readonly #client = new Client();
  readonly #test: TestHub;
  readonly #stream: EventStream;

  private constructor(test: TestHub, stream: EventStream) {
    this.#test = test;
    this.#stream = stream;
  }

  static async open(test: TestHub): Promise<Follower> {
    const follower = new Follower(test, await test.subscribe({ scope: ownProjects() }));
    await follower.#readUntil(({ isSynced }) => isSynced);
    await follower.#stream.untilToken();
    return follower;
  }

  /** Compares what it has in the end with what is listed. */
  async check(when: string): Promise<void> {
    // What comes together may come in any order: the second one comes after all that was before.
    for (const marker of [100, 101]) {
      await this.#test.sql(`INSERT INTO items ("id", "projectId") VALUES (${marker}, 3)`);
      await this.#readUntil(({ rows }) => rows.has(marker));
    }
    await this.#stream.close();
    assertEquals(new Set(this.#client.rows.keys()), await listed(this.#test), when);
    assertEquals(this.#client.faults, [], when);
  }

  async #readUntil(isReached: (client: Client) => boolean): Promise<void> {
    while (!isReached(this.#client)) {
      for (const event of await this.#stream.take(1)) this.#client.take(event);
    }
  }
}

async function fill({ sql }: TestHub): Promise<void> {
  await sql(`DELETE FROM items`);
  await sql(`DELETE FROM projects`);
  await sql(`INSERT INTO projects ("id", "ownerId") VALUES (1, 1), (2, 2), (3, 1)`);
  await sql(`INSERT INTO items ("id", "projectId") VALUES (1, 1), (2, 1), (3, 2), (4, 3)`);
}

/** The ids of the items that the user may see. */
async function listed({ db }: TestHub): Promise<Set<unknown>> {
  const text = `SELECT i.id FROM items i JOIN projects p ON p.id = i."projectId"
    WHERE p."ownerId" = 1`;
  const { rows } = await db.driver.query({ text, values: [] });
  return new Set(rows.map(([id]) => Number(id)));
}

/** The items of the projects of the user. */
function ownProjects(): Filter {
  const [own, target] = [tableInfoOf(items), tableInfoOf(projects)];
  const step: RelationStep = relationStep(target, [{
    own: columnInfoOf(items.projectId),
    other: columnInfoOf(projects.id),
  }]);
  return {
    kind: "related",
    relation: {
      name: "project",
      owner: own,
      target,
      type: "belongsTo",
      filterable: true,
      toMany: false,
      steps: [step],
    },
    filter: comparison(equalOperator, columnInfoOf(projects.ownerId), [1]),
    links: allRows,
  };
}
