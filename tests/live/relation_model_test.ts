import { assertEquals } from "@std/assert";
import {
  allRows,
  and,
  comparison,
  type Filter,
  or,
  type Related,
} from "../../src/filter/filter.ts";
import { equalOperator } from "../../src/filter/operators/operator_registry.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { type RelationStep, relationStep } from "../../src/schema/relation.ts";
import type { ColumnInfo, Row, TableInfo } from "../../src/schema/table_info.ts";
import type { Connection } from "../../src/db/driver.ts";
import type { EventStream, ServerEvent } from "../support/event_stream.ts";
import { testOnDialects } from "../support/http.ts";
import { Client, spied, type TestHub, untilIdle, withHub } from "./hub_support.ts";
import { repeats } from "../support/repeats.ts";

const projects = table("projects", {
  id: integer().primaryKey(),
  ownerId: integer(),
  gone: integer().notNull(),
});
const members = table("members", {
  id: integer().primaryKey(),
  projectId: integer(),
  userId: integer(),
});
const placements = table("placements", {
  id: integer().primaryKey(),
  itemId: integer(),
  projectId: integer(),
  gone: integer().notNull(),
});
const items = table("items", {
  id: integer().primaryKey(),
  title: text().notNull(),
  ownerId: integer(),
  projectId: integer(),
  isOpen: integer().notNull(),
});

const [item, project, member, placement] = [items, projects, members, placements].map(
  tableInfoOf,
) as [TableInfo, TableInfo, TableInfo, TableInfo];

/** What the tables hold, read by themselves. */
interface Truth {
  readonly items: readonly Row[];
  readonly projects: readonly Row[];
  readonly members: readonly Row[];
  readonly placements: readonly Row[];
}

/** A filter as the service has it, and the same as this test understands it. */
interface Scope {
  readonly name: string;
  of(user: number): Filter;
  lists(row: Row, user: number, truth: Truth): boolean;
}

const owned = (user: number) => and(is(project, "ownerId", user), is(project, "gone", 0));
const isOwned = (id: unknown, user: number, { projects }: Truth) =>
  projects.some((row) => row["id"] === id && row["ownerId"] === user && row["gone"] === 0);

const scopes: readonly Scope[] = [
  {
    name: "the project's owner",
    of: (user) => walk("project", item, "projectId", project, "id", owned(user)),
    lists: (row, user, truth) => isOwned(row["projectId"], user, truth),
  },
  {
    name: "own rows or the project owner's",
    of: (user) =>
      or(
        is(item, "ownerId", user),
        walk("project", item, "projectId", project, "id", owned(user)),
      ),
    lists: (row, user, truth) => row["ownerId"] === user || isOwned(row["projectId"], user, truth),
  },
  {
    name: "what is open, of the project's members",
    of: (user) =>
      and(
        is(item, "isOpen", 1),
        walk(
          "project",
          item,
          "projectId",
          project,
          "id",
          and(
            is(project, "gone", 0),
            walk("members", project, "id", member, "projectId", is(member, "userId", user)),
          ),
        ),
      ),
    lists: (row, user, { projects, members }) =>
      row["isOpen"] === 1 &&
      projects.some(({ id, gone }) =>
        id === row["projectId"] && gone === 0 &&
        members.some(({ projectId, userId }) => projectId === id && userId === user)
      ),
  },
  {
    name: "the owner of a project that it is placed in",
    of: (user) => ({
      ...walk("placedIn", item, "id", project, "id", owned(user)),
      relation: {
        ...relation("placedIn", item, project, "manyToMany"),
        steps: [
          stepTo(placement, column(item, "id"), column(placement, "itemId")),
          stepTo(project, column(placement, "projectId"), column(project, "id")),
        ],
      },
      links: is(placement, "gone", 0),
    }),
    lists: (row, user, truth) =>
      truth.placements.some(({ itemId, projectId, gone }) =>
        itemId === row["id"] && gone === 0 && isOwned(projectId, user, truth)
      ),
  },
];

const users = [1, 2];

/** How a client reads. */
type Habit = "reads on" | "is slow" | "resumes" | "resumes elsewhere";
const habits: readonly Habit[] = ["reads on", "is slow", "resumes"];

/** Of more rows than these nothing is remembered, so that little is known. */
const cases = [
  { seed: 1, maxHeldRows: 10_000, memory: "of all rows" },
  { seed: 2, maxHeldRows: 3, memory: "of few rows" },
];

for (const { seed, maxHeldRows, memory } of cases) {
  testOnDialects(
    `what a right along relations lets through could be listed, and is in the end, by memory ${memory}`,
    async (engine) => {
      const dice = createDice(seed);
      const pause = async () => {
        for (let turns = dice(4) === 0 ? dice(6) : 0; turns > 0; turns--) await untilIdle(1);
      };
      await withHub(engine, items, {
        related: [projects, members, placements],
        limits: {
          maxHeldRows,
          maxRowsPerPage: 2,
          maxUnreadBytes: 400,
          ringBuffer: { changes: 40, bytes: 1_000_000 },
        },
        wrap: (log) => spied(log, pause),
      }, async (test) => {
        await fill(test);
        const model = new Model(test, dice, maxHeldRows > 3);
        await model.look();
        const followers: Follower[] = [];
        for (const scope of scopes) {
          for (const user of users) {
            for (const habit of habits) {
              followers.push(await Follower.open(model, scope, user, habit));
            }
          }
        }
        const rounds = repeats(engine.name === "pglite" ? 9 : 12);
        for (let round = 0; round < rounds; round++) {
          const late = await Follower.open(
            model,
            scopes[round % 4] as Scope,
            1 + dice(2),
            "reads on",
          );
          await model.burst();
          for (const follower of followers) await follower.live(dice);
          await model.burst();
          await model.resumeToken([...followers, late], round);
          for (const follower of [...followers, late]) follower.check(`round ${round}`);
          await late.close();
        }
        for (const follower of followers) await follower.close();
        await untilIdle();
      });
    },
  );
}

/** The tables as they were after each transaction. */
class Model {
  readonly test: TestHub;
  readonly #dice: Dice;
  #now: Truth | null = null;
  #versions = 0;
  /** For each who may see a row as it was: up to which change of the log. */
  readonly #listed = new Map<string, number>();
  /**
   * For each who may see them: the ids of all rows that could be listed at any time, also between
   * two statements of a transaction, because the log has such states as well.
   */
  readonly #listedIds = new Set<string>();

  /** Whether the service remembers all rows that its clients hold. */
  readonly remembersAll: boolean;

  constructor(test: TestHub, dice: Dice, remembersAll: boolean) {
    this.test = test;
    this.#dice = dice;
    this.remembersAll = remembersAll;
  }

  listed(scope: Scope, user: number): readonly Row[] {
    const truth = this.#now;
    if (truth === null) throw new Error("unreachable");
    return truth.items.filter((row) => scope.lists(row, user, truth));
  }

  /** Whether a row could be listed so, at or after a change. */
  wasListed(scope: Scope, user: number, row: Row, seq: number): boolean {
    return (this.#listed.get(versionOf(scope, user, row)) ?? -1) > seq;
  }

  /** Whether a row with this id could ever be listed. */
  wasEverListed(scope: Scope, user: number, id: unknown): boolean {
    return this.#listedIds.has(JSON.stringify([scope.name, user, id]));
  }

  async look(): Promise<void> {
    const { test } = this;
    const before = this.#now;
    const seq = test.db.dialect.engine === "sqlite" ? await lastSeq(test) : 0;
    this.#now = await readTruth(test.db.driver);
    this.#addListedIds(this.#now);
    for (const scope of scopes) {
      for (const user of users) {
        // What could be listed up to this transaction was so at every change before its last one.
        if (before !== null && test.db.dialect.engine === "sqlite") {
          for (const row of before.items.filter((row) => scope.lists(row, user, before))) {
            this.#listed.set(versionOf(scope, user, row), seq);
          }
        }
        for (const row of this.listed(scope, user)) {
          this.#listed.set(versionOf(scope, user, row), Infinity);
        }
      }
    }
  }

  #addListedIds(truth: Truth): void {
    for (const scope of scopes) {
      for (const user of users) {
        for (const row of truth.items.filter((row) => scope.lists(row, user, truth))) {
          this.#listedIds.add(JSON.stringify([scope.name, user, row["id"]]));
        }
      }
    }
  }

  /** Transactions at short distance. */
  async burst(): Promise<void> {
    const dice = this.#dice;
    for (let left = 1 + dice(6); left > 0; left--) {
      const writes = Array.from({ length: 1 + dice(4) }, () => this.#write());
      const isUndone = dice(6) === 0;
      const left: Truth[] = [];
      await this.test.db.driver.transaction(async (connection) => {
        for (const text of writes) {
          await connection.query({ text, values: [] });
          left.push(await readTruth(connection));
        }
        if (isUndone) throw undone;
        left.forEach((truth) => this.#addListedIds(truth));
      }).catch((error) => {
        if (error !== undone) throw error;
      });
      await this.look();
    }
  }

  /** Waits until every client has received all events. */
  async resumeToken(followers: readonly Follower[], round: number): Promise<void> {
    const ids = users.map((user) => ({ user, id: 1_000 + 10 * round + user }));
    for (const { user, id } of ids) {
      await this.test.sql(
        `INSERT INTO items ("id", "title", "ownerId", "projectId", "isOpen")
          VALUES (${id}, 'mark', ${user}, ${100 + user}, 1)`,
      );
      await this.test.sql(
        `INSERT INTO placements ("id", "itemId", "projectId", "gone")
          VALUES (${id}, ${id}, ${100 + user}, 0)`,
      );
    }
    await this.look();
    for (const follower of followers) {
      await follower.until(1_000 + 10 * round + follower.user, true);
    }
    for (const { id } of ids) await this.test.sql(`DELETE FROM items WHERE id = ${id}`);
    for (const { id } of ids) await this.test.sql(`DELETE FROM placements WHERE id = ${id}`);
    await this.look();
    for (const follower of followers) {
      await follower.until(1_000 + 10 * round + follower.user, false);
    }
  }

  #write(): string {
    const dice = this.#dice;
    const [id, place, owner] = [1 + dice(6), 1 + dice(4), 1 + dice(3)];
    const title = `v${++this.#versions}`;
    const choices = [
      `UPDATE items SET title = '${title}' WHERE id = ${id}`,
      `UPDATE items SET title = '${title}', "projectId" = ${place} WHERE id = ${id}`,
      `UPDATE items SET title = '${title}', "isOpen" = ${dice(2)} WHERE id = ${id}`,
      `UPDATE items SET "ownerId" = ${owner} WHERE id = ${id}`,
      `DELETE FROM items WHERE id = ${id}`,
      `INSERT INTO items ("id", "title", "ownerId", "projectId", "isOpen")
        VALUES (${id}, '${title}', ${owner}, ${place}, 1) ON CONFLICT DO NOTHING`,
      `UPDATE items SET title = '${title}' || id`,
      `UPDATE projects SET "ownerId" = ${owner} WHERE id = ${place}`,
      `UPDATE projects SET "ownerId" = 3 - "ownerId" WHERE "ownerId" < 3 AND id < 100`,
      `UPDATE projects SET gone = ${dice(2)} WHERE id = ${place}`,
      `DELETE FROM projects WHERE id = ${place}`,
      `INSERT INTO projects ("id", "ownerId", "gone") VALUES (${place}, ${owner}, 0)
        ON CONFLICT DO NOTHING`,
      `DELETE FROM members WHERE id = ${id}`,
      `INSERT INTO members ("id", "projectId", "userId") VALUES (${id}, ${place}, ${owner})
        ON CONFLICT DO NOTHING`,
      `UPDATE members SET "userId" = ${owner}, "projectId" = ${place} WHERE id = ${id}`,
      `UPDATE placements SET gone = ${dice(2)} WHERE id = ${place}`,
      `UPDATE placements SET "itemId" = ${id}, "projectId" = ${place} WHERE id = ${id}`,
    ];
    return choices[dice(choices.length)] ?? "";
  }
}

/** A row that the client has comes again, or one that it has not goes again. */
const repetition = /^(?:added \S+, known: true|removed \S+, known: false)$/;

/** A client, and what it may be sent. */
class Follower {
  readonly user: number;
  readonly #model: Model;
  readonly #scope: Scope;
  readonly #habit: Habit;
  readonly #faults: string[] = [];
  #shown = new Set<unknown>();
  #client = new Client();
  #stream: EventStream;
  #invalidations = 0;

  private constructor(
    model: Model,
    scope: Scope,
    user: number,
    habit: Habit,
    stream: EventStream,
  ) {
    this.#model = model;
    this.#scope = scope;
    this.user = user;
    this.#habit = habit;
    this.#stream = stream;
  }

  static async open(model: Model, scope: Scope, user: number, habit: Habit): Promise<Follower> {
    const stream = await model.test.subscribe({ scope: scope.of(user) });
    return new Follower(model, scope, user, habit, stream);
  }

  async close(): Promise<void> {
    await this.#stream.close();
  }

  /** Does as it is used to. */
  async live(dice: Dice): Promise<void> {
    if (this.#habit === "reads on") await untilIdle();
    if (this.#habit !== "resumes" || dice(3) > 0 || this.#stream.lastEventId === "") return;
    const resumeFrom = this.#stream.lastEventId;
    await this.#stream.close();
    const { test } = this.#model;
    this.#stream = await test.subscribe({ scope: this.#scope.of(this.user), resumeFrom });
  }

  /** Reads until it holds a row, or does not. */
  async until(id: number, isHeld: boolean): Promise<void> {
    while (!this.#client.isSynced || this.#client.rows.has(id) !== isHeld) {
      const [event] = await this.#stream.take(1);
      if (event !== undefined) this.#take(event);
    }
  }

  check(when: string): void {
    const at = `${when}: ${this.#scope.name}, ${this.user}, who ${this.#habit}`;
    const byId = (left: Row, right: Row) => Number(left["id"]) - Number(right["id"]);
    const rows = [...this.#client.rows.values()].toSorted(byId);
    const listed = this.#model.listed(this.#scope, this.user).toSorted(byId);
    assertEquals(rows, listed, at);
    assertEquals(this.#faults, [], at);
    if (this.#habit === "reads on") {
      const { faults } = this.#client;
      // Without the memory of all rows a reader that lags may be sent an event again.
      const unexpected = this.#model.remembersAll
        ? faults
        : faults.filter((fault) => !repetition.test(fault));
      assertEquals(unexpected, [], at);
    }
  }

  /**
   * Whether a client may be sent that a row is removed: it was sent the row, or the service does not
   * know whether it was, because it has resumed, or because not all held rows are remembered. A row
   * that it could never list must not be named.
   */
  #mayHold(id: unknown): boolean {
    if (this.#shown.has(id)) return true;
    const isKnown = this.#habit !== "resumes" && this.#model.remembersAll;
    return !isKnown && this.#model.wasEverListed(this.#scope, this.user, id);
  }

  #take(event: ServerEvent): void {
    const { type, data } = event;
    const rows: readonly Row[] = type === "existing" ? data.items : data.item ? [data.item] : [];
    for (const row of rows) {
      this.#shown.add(row["id"]);
      // A page may be some moments older than the stream.
      const seq = type === "existing" || this.#model.test.db.dialect.engine !== "sqlite"
        ? -1
        : data.seq;
      if (!this.#model.wasListed(this.#scope, this.user, row, seq)) {
        this.#faults.push(`${type} ${JSON.stringify(row)} at ${data.seq}`);
      }
    }
    if (type === "removed" && !this.#mayHold(data.id)) this.#faults.push(`removed ${data.id}`);
    if (type === "invalidate") this.#invalidations++;
    this.#client.take(event);
  }
}

type Dice = (sides: number) => number;

/** The same throws in every run: what fails once fails again. */
function createDice(seed: number): Dice {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * sides);
  };
}

const undone = new Error("undone");

async function fill({ sql }: TestHub): Promise<void> {
  for (let id = 1; id <= 4; id++) {
    await sql(`INSERT INTO projects ("id", "ownerId", "gone") VALUES (${id}, ${1 + id % 2}, 0)`);
    await sql(
      `INSERT INTO members ("id", "projectId", "userId") VALUES (${id}, ${id}, ${1 + id % 2})`,
    );
  }
  for (const user of users) {
    const id = 100 + user;
    await sql(`INSERT INTO projects ("id", "ownerId", "gone") VALUES (${id}, ${user}, 0)`);
    await sql(`INSERT INTO members ("id", "projectId", "userId") VALUES (${id}, ${id}, ${user})`);
  }
  for (let id = 1; id <= 6; id++) {
    await sql(`INSERT INTO items ("id", "title", "ownerId", "projectId", "isOpen")
      VALUES (${id}, 'v', ${1 + id % 3}, ${1 + id % 4}, 1)`);
    await sql(`INSERT INTO placements ("id", "itemId", "projectId", "gone")
      VALUES (${id}, ${id}, ${1 + id % 4}, 0)`);
  }
}

async function readTruth(connection: Connection): Promise<Truth> {
  return {
    items: await readAll(connection, item),
    projects: await readAll(connection, project),
    members: await readAll(connection, member),
    placements: await readAll(connection, placement),
  };
}

async function readAll(connection: Connection, table: TableInfo): Promise<readonly Row[]> {
  const columns = table.columns.map(({ dbName }) => `"${dbName}"`).join(", ");
  const { rows } = await connection.query({
    text: `SELECT ${columns} FROM ${table.name}`,
    values: [],
  });
  return rows.map((cells) =>
    Object.fromEntries(table.columns.map(({ name, kind }, index) => {
      const cell = cells[index] ?? null;
      return [name, cell === null || kind === "text" ? cell : Number(cell)];
    }))
  );
}

async function lastSeq({ db }: TestHub): Promise<number> {
  const text = `SELECT coalesce(max(seq), 0) FROM "_service_changes"`;
  const { rows } = await db.driver.query({ text, values: [] });
  return Number(rows[0]?.[0]);
}

function versionOf(scope: Scope, user: number, row: Row): string {
  return JSON.stringify([scope.name, user, item.columns.map(({ name }) => row[name])]);
}

function column(table: TableInfo, name: string): ColumnInfo {
  const found = table.columns.find((column) => column.name === name);
  if (found === undefined) throw new Error(`No column ${name}`);
  return found;
}

function is(table: TableInfo, name: string, value: unknown): Filter {
  return comparison(equalOperator, column(table, name), [value]);
}

function relation(
  name: string,
  owner: TableInfo,
  target: TableInfo,
  type: "belongsTo" | "hasMany" | "manyToMany",
) {
  return { name, owner, target, type, filterable: true, toMany: type !== "belongsTo" };
}

function stepTo(table: TableInfo, own: ColumnInfo, other: ColumnInfo): RelationStep {
  return relationStep(table, [{ own, other }]);
}

function walk(
  name: string,
  owner: TableInfo,
  own: string,
  target: TableInfo,
  other: string,
  filter: Filter,
): Related {
  const step = stepTo(target, column(owner, own), column(target, other));
  return {
    kind: "related",
    relation: { ...relation(name, owner, target, "belongsTo"), steps: [step] },
    filter,
    links: allRows,
  };
}
