import { assert, assertEquals } from "@std/assert";
import { all } from "../../../src/filter/builders.ts";
import { rsql } from "../../../src/filter/filter_text.ts";
import { resource } from "../../../src/resource/define/resource_definition.ts";
import { integer, text } from "../../../src/schema/column_builder.ts";
import { table } from "../../../src/schema/table.ts";
import type { Engine } from "../../support/engines.ts";
import type { EventStream, ServerEvent } from "../../support/event_stream.ts";
import { type Service, withService } from "../../support/http.ts";
import { Chance } from "../checker/chance.ts";

const teams = table("teams", { id: integer().primaryKey(), name: text().notNull() });
const members = table("members", {
  id: integer().primaryKey(),
  teamId: integer().notNull().as("team_id"),
  userId: text().notNull().as("user_id"),
});
const items = table("items", {
  id: integer().primaryKey(),
  teamId: integer().as("team_id"),
  ownerId: text().notNull().as("owner_id"),
  title: text().notNull(),
  rank: integer(),
  deletedAt: text().as("deleted_at"),
});

/** `ada` may read everything, `bob` what he owns, and `eve` what belongs to her teams. */
const users = ["ada", "bob", "eve"] as const;
type User = typeof users[number];
const visible: Readonly<Record<User, string>> = {
  ada: "1 = 1",
  bob: "owner_id = 'bob'",
  eve: "EXISTS (SELECT 1 FROM members m WHERE m.team_id = items.team_id AND m.user_id = 'eve')",
};

/** An order of the request, and the same as this test writes it. */
const orders = [
  ["-rank", "(rank IS NULL), rank DESC, id"],
  ["rank,-title", "(rank IS NULL), rank, title DESC, id"],
  ["title:desc", "title DESC, id"],
  ["", "id"],
  ["-id", "id DESC"],
] as const;
/** In the order of their code points, which is not that of UTF-16. */
const titles = ["Z", "a", "b", "\u{e9}", "\u{ff5e}", "\u{1f600}"] as const;
const filters = [["", "1 = 1"], ["rank>=2", "rank >= 2"], ["title!=b", "title <> 'b'"]] as const;
const shapes = ["", "&select=id,title", "&include=team(select:name)"] as const;

interface Query {
  readonly user: User;
  readonly order: typeof orders[number];
  readonly filter: typeof filters[number];
  readonly shape: typeof shapes[number];
  readonly limit: number;
  readonly withDeleted: boolean;
}

/** How far a run has come. */
export interface WindowRun {
  steps: number;
  comparisons: number;
  resumed: number;
  /** The longest time until a stream had the rows of the list, in milliseconds. */
  slowestMs: number;
}

/**
 * Writes at random, and compares the rows of every stream with a list of the same user and with a
 * statement of this test whenever nothing happens.
 */
export async function runWindowModel(
  engine: Engine,
  { seed, steps }: { readonly seed: number; readonly steps: number },
): Promise<WindowRun> {
  const run: WindowRun = { steps: 0, comparisons: 0, resumed: 0, slowestMs: 0 };
  await withService(engine, [teams, members, items], () => ({
    subscribe: { maxPerUser: 200, maxPerAddress: 200 },
    resources: [
      resource(teams, {
        id: teams.id,
        auth: { read: () => all() },
        relations: {
          members: { type: "hasMany", resource: members, foreignKey: members.teamId },
        },
      }),
      resource(members, { id: members.id, auth: { read: () => all() } }),
      resource(items, {
        id: items.id,
        softDelete: { field: items.deletedAt },
        auth: {
          // The scope of `eve` follows relations.
          read: scopeOf,
          subscribe: scopeOf,
          create: () => all(),
          update: () => all(),
          delete: () => all(),
        },
        relations: {
          team: { type: "belongsTo", resource: teams, foreignKey: items.teamId },
        },
      }),
    ],
  }), async (service) => {
    const world = new World(service, new Chance(seed), run);
    await world.begin();
    while (run.steps < steps) await world.round();
    await world.end();
  });
  return run;
}

function scopeOf({ id }: { readonly id: string }) {
  if (id === "ada") return all();
  return id === "bob" ? rsql`ownerId==${id}` : rsql`team.members.userId==${id}`;
}

class World {
  readonly #service: Service;
  readonly #chance: Chance;
  readonly #run: WindowRun;
  #followers: Follower[] = [];
  #lastId = 0;

  constructor(service: Service, chance: Chance, run: WindowRun) {
    this.#service = service;
    this.#chance = chance;
    this.#run = run;
  }

  async begin(): Promise<void> {
    await this.#sql("INSERT INTO teams (id, name) VALUES (1, 'a'), (2, 'b'), (3, 'c')");
    await this.#sql(
      "INSERT INTO members (id, team_id, user_id) VALUES (1, 1, 'eve'), (2, 2, 'bob')",
    );
    for (let count = 0; count < 12; count++) await this.#insert();
  }

  async round(): Promise<void> {
    const chance = this.#chance;
    if (this.#followers.length < 9) this.#followers.push(await this.#open(this.#query()));
    else if (chance.below(3) === 0) await this.#reconnect(chance.below(this.#followers.length));
    const writes = 1 + chance.below(8);
    for (let count = 0; count < writes; count++) await this.#write();
    this.#run.steps += writes;
    for (const follower of this.#followers) await this.#compare(follower);
  }

  async end(): Promise<void> {
    for (const { stream } of this.#followers) await stream.close();
  }

  #query(): Query {
    const chance = this.#chance;
    return {
      user: chance.pick(users),
      order: chance.pick(orders),
      filter: chance.pick(filters),
      shape: chance.pick(shapes),
      limit: 1 + chance.below(6),
      withDeleted: chance.below(4) === 0,
    };
  }

  /** Ends a stream, writes, and continues with its token, or begins another query. */
  async #reconnect(index: number): Promise<void> {
    const chance = this.#chance;
    const [old] = this.#followers.splice(index, 1);
    assert(old !== undefined);
    await old.stream.close();
    if (chance.below(3) === 0) {
      this.#followers.push(await this.#open(this.#query()));
      return;
    }
    for (let count = chance.below(3); count > 0; count--) await this.#write();
    const query = chance.below(5) === 0 ? this.#query() : old.query;
    this.#followers.push(await this.#open(query, old));
    this.#run.resumed++;
  }

  async #open(query: Query, old?: Follower): Promise<Follower> {
    const path = `/api/items/subscribe?${textOf(query)}`;
    const token = old?.token ?? "";
    const headers = { "x-user": query.user, ...(token === "" ? {} : { "last-event-id": token }) };
    return new Follower(query, await this.#service.subscribe(path, headers), old);
  }

  async #compare(follower: Follower): Promise<void> {
    const { query } = follower;
    const { body } = await this.#service.get(`/api/items?${textOf(query)}`, {
      "x-user": query.user,
    });
    const deleted = query.withDeleted ? "" : " AND deleted_at IS NULL";
    const { rows } = await this.#service.db.driver.query({
      text: `SELECT id FROM items WHERE ${visible[query.user]} AND ${query.filter[1]}${deleted} ` +
        `ORDER BY ${query.order[1]} LIMIT ${query.limit}`,
      values: [],
    });
    const listed = new Map<string, unknown>(
      body.items.map((item: { id: number }) => [String(item.id), item]),
    );
    assertEquals([...listed.keys()], rows.map(([id]) => String(id)), JSON.stringify(query));
    const begunAt = performance.now();
    await follower.untilEqual(listed);
    this.#run.slowestMs = Math.max(this.#run.slowestMs, performance.now() - begunAt);
    this.#run.comparisons++;
  }

  async #write(): Promise<void> {
    const chance = this.#chance;
    const id = 1 + chance.below(Math.max(1, this.#lastId));
    const rank = chance.below(4) === 0 ? "NULL" : String(chance.below(5));
    const team = chance.below(4) === 0 ? "NULL" : String(1 + chance.below(3));
    const title = chance.pick(titles);
    switch (chance.below(14)) {
      case 0:
      case 1:
      case 2:
        return await this.#insert();
      case 3:
        return await this.#sql(`DELETE FROM items WHERE id = ${id}`);
      case 4:
        return await this.#sql(
          `UPDATE items SET deleted_at = CASE WHEN deleted_at IS NULL THEN 'x' END WHERE id = ${id}`,
        );
      case 5:
        return await this.#sql(`UPDATE items SET rank = ${rank} WHERE id = ${id}`);
      case 6:
        return await this.#sql(
          `UPDATE items SET title = '${title}', rank = ${rank} WHERE id % 3 = 0`,
        );
      case 7:
        return await this.#sql(
          `UPDATE items SET owner_id = '${chance.pick(users)}' WHERE id = ${id}`,
        );
      case 8:
        return await this.#sql(`UPDATE items SET team_id = ${team} WHERE id = ${id}`);
      case 9:
        return await this.#sql(
          `UPDATE teams SET name = '${title}' WHERE id = ${1 + chance.below(3)}`,
        );
      case 10:
        return await this.#sql(
          `UPDATE members SET team_id = ${1 + chance.below(3)}, user_id = '${
            chance.pick(users)
          }' ` +
            `WHERE id = ${1 + chance.below(2)}`,
        );
      case 11:
        return await this.#sql(`UPDATE items SET id = ${++this.#lastId} WHERE id = ${id}`);
      case 12: {
        const headers = { "x-user": "ada", "service-optimistic-id": `write ${this.#run.steps}` };
        await this.#service.send("PATCH", `/api/items/${id}`, { title }, headers);
        return;
      }
      default:
        return await this.#transaction(id, title);
    }
  }

  /** Several statements as one commit, which may end as they have begun. */
  async #transaction(id: number, title: string): Promise<void> {
    const other = ++this.#lastId;
    await this.#service.db.driver.transaction(async (connection) => {
      for (
        const text of [
          `INSERT INTO items (id, owner_id, title, rank) VALUES (${other}, 'bob', '${title}', 4)`,
          `UPDATE items SET rank = 9 WHERE id = ${id}`,
          `UPDATE items SET rank = rank - 8 WHERE rank = 9`,
          ...(this.#chance.below(2) === 0 ? [`DELETE FROM items WHERE id = ${other}`] : []),
        ]
      ) await connection.query({ text, values: [] });
    });
  }

  async #insert(): Promise<void> {
    const chance = this.#chance;
    const rank = chance.below(4) === 0 ? "NULL" : chance.below(5);
    const team = chance.below(4) === 0 ? "NULL" : 1 + chance.below(3);
    const [owner, title] = [chance.pick(users), chance.pick(titles)];
    await this.#sql(
      "INSERT INTO items (id, team_id, owner_id, title, rank) " +
        `VALUES (${++this.#lastId}, ${team}, '${owner}', '${title}', ${rank})`,
    );
  }

  async #sql(text: string): Promise<void> {
    await this.#service.db.driver.query({ text, values: [] });
  }
}

/** A client of a window, which applies the events of a commit together. */
class Follower {
  readonly query: Query;
  readonly stream: EventStream;
  rows: ReadonlyMap<string, unknown>;

  readonly #earlierToken: string;

  constructor(query: Query, stream: EventStream, old?: Follower) {
    this.query = query;
    this.stream = stream;
    this.rows = new Map(old?.rows);
    this.#earlierToken = old?.token ?? "";
  }

  /** The last token that the client has received, in this stream or in an earlier one. */
  get token(): string {
    return this.stream.lastEventId || this.#earlierToken;
  }

  /**
   * Reads until the rows are these. A stream that never sends them fails after five minutes: on a
   * busy machine a query can take seconds, and after it the service waits for four times as long.
   */
  async untilEqual(listed: ReadonlyMap<string, unknown>): Promise<void> {
    const isEqual = () =>
      this.rows.size === listed.size &&
      [...listed].every(([id, row]) => Deno.inspect(row) === Deno.inspect(this.rows.get(id)));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<"late">((resolve) =>
      timer = setTimeout(() => resolve("late"), 300_000)
    );
    try {
      while (!isEqual()) {
        const event = await Promise.race([this.#next(), late]);
        if (event === "late") assertEquals(this.rows, listed, JSON.stringify(this.query));
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async #next(): Promise<void> {
    const { lastEventId } = this.stream;
    const event = await this.stream.next();
    assert(event !== null, "the stream has ended");
    // A commit is complete when its token has come.
    if (this.stream.lastEventId !== lastEventId) assert(this.rows.size <= this.query.limit);
    this.rows = applied(this.rows, event, this.query);
  }
}

function applied(
  rows: ReadonlyMap<string, unknown>,
  { type, data }: ServerEvent,
  { limit }: Query,
): ReadonlyMap<string, unknown> {
  if (type === "invalidate") return new Map();
  const next = new Map(type === "existing" ? [] : rows);
  if (type === "existing") {
    assertEquals([data.limit, data.hasMore], [limit, false]);
    for (const item of data.items) next.set(String(item.id), item);
  } else if (type === "removed") {
    assert(next.delete(String(data.id)), `a row that is not there is removed: ${data.id}`);
  } else {
    const { _optimisticId, ...item } = data.item;
    assertEquals(next.has(String(data.id)), type === "changed", type);
    next.set(String(data.id), item);
  }
  return next;
}

function textOf({ filter, order, shape, limit, withDeleted }: Query): string {
  return `limit=${limit}&orderBy=${order[0]}&filter=${filter[0]}${shape}` +
    (withDeleted ? "&withDeleted=true" : "");
}
