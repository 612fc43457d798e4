/** With `actAs`, no fault shows a caller rows of another user, or rows of the role that logs in. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { postgresDriver } from "../../src/engines/postgres/driver/postgres_driver.ts";
import type {
  PostgresConnection,
  PostgresResult,
} from "../../src/engines/postgres/driver/postgres_connection.ts";
import type { Driver } from "../../src/db/driver.ts";
import { DatabaseError } from "../../src/db/database_error.ts";
import { systemClock } from "../../src/runtime/system_runtime.ts";
import { countingProxy } from "../support/counting_proxy.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { actingApp } from "./acting_app.ts";
import { supabase, uid } from "./supabase.ts";

/** What one statement of a faulty connection does. */
type Fault = "rejects" | "rolls back" | "succeeds";

/** A driver over a connection without a server, and the statements that it was sent. */
function faultyDriver(
  faults: Readonly<Record<string, Fault>>,
  pipelines: boolean,
): { readonly driver: Driver; readonly sent: string[]; readonly isDropped: () => boolean } {
  const sent: string[] = [];
  let lost = false;
  const answer = (text: string): Promise<PostgresResult> => {
    sent.push(text);
    const [command = ""] = text.split(" ");
    const [, fault] = Object.entries(faults).find(([start]) => text.startsWith(start)) ?? [];
    if (fault === "rejects") {
      return Promise.reject(Object.assign(new Error("canceled"), { code: "57014" }));
    }
    const rows = text.includes("secret") ? [["a row of another user"]] : [];
    const done = fault === "rolls back" ? "ROLLBACK" : command;
    return Promise.resolve({ rows, command: done, count: rows.length, columns: [] });
  };
  const connection: PostgresConnection = {
    opening: null,
    get lost() {
      return lost;
    },
    run: answer,
    end: answer,
    read: (text) => ({ result: answer(text), cancel: () => Promise.resolve() }),
    drop: () => void (lost = true),
  };
  const driver = postgresDriver({
    label: "a faulty server",
    sessions: [{ connection: () => connection, close: () => Promise.resolve() }],
    maxReads: 1,
    waitLimitMs: 1_000,
    clock: systemClock,
    isShared: true,
    signals: null,
    pipelines,
    close: () => Promise.resolve(),
  });
  const acting = driver.as?.({ role: "ada", settings: { "app.user": "ada" } });
  if (acting === undefined) throw new Error("The driver has no roles");
  return { driver: acting, sent, isDropped: () => lost };
}

const select = { text: "SELECT secret FROM notes", values: [], isSingle: true };
const insert = { text: "INSERT INTO notes VALUES (1) RETURNING secret", values: [] };
const limits = {
  identity: "u",
  signal: new AbortController().signal,
  maxBytes: 1_000,
  timeoutMs: 1_000,
};

for (const pipelines of [true, false]) {
  const how = pipelines ? "sent together" : "one after the other";
  for (
    const [name, faults] of Object.entries<Readonly<Record<string, Fault>>>({
      "BEGIN fails": { BEGIN: "rejects" },
      "the identity is not taken": { "SELECT WHERE set_config": "rejects" },
      "COMMIT fails": { COMMIT: "rejects" },
      "COMMIT rolls back": { COMMIT: "rolls back" },
    })
  ) {
    Deno.test(`statements ${how}: nothing is returned if ${name}`, async () => {
      const isBefore = !("COMMIT" in faults);
      const ends = faults.COMMIT === "rejects" ? ["ROLLBACK"] : ["COMMIT", "ROLLBACK"];
      for (
        const read of [
          (driver: Driver) => driver.query(select),
          (driver: Driver) => driver.reads(limits).query(select),
        ]
      ) {
        const { driver, sent, isDropped } = faultyDriver(faults, pipelines);
        await assertRejects(async () => await read(driver), DatabaseError);
        assert(isDropped() || ends.includes(sent.at(-1) ?? ""), "the transaction is over");
      }
      const { driver, sent, isDropped } = faultyDriver(faults, pipelines);
      await assertRejects(async () => await driver.query(insert), DatabaseError);
      assertEquals(sent.includes(insert.text), !isBefore, "a write needs its identity first");
      assert(isDropped() || ends.includes(sent.at(-1) ?? ""), "the transaction is over");
      const other = faultyDriver(faults, pipelines);
      await assertRejects(() => other.driver.transaction((tx) => tx.query(insert)), DatabaseError);
      assertEquals(other.sent.includes(insert.text), !isBefore);
    });
  }
}

Deno.test("after a statement that failed, nothing is sent to a transaction that is over", async () => {
  const faults = { SELECT: "rejects", INSERT: "rejects", COMMIT: "rolls back" } as const;
  const works: readonly ((driver: Driver) => Promise<unknown>)[] = [
    async (driver) => await driver.query(select),
    async (driver) => await driver.reads(limits).query(select),
    async (driver) => await driver.query(insert),
    async (driver) =>
      await driver.transaction(async (tx) => void await Promise.allSettled([tx.query(insert)])),
  ];
  for (const work of works) {
    // The identity is taken by a SELECT, too.
    const { driver, sent } = faultyDriver({ "SELECT WHERE": "succeeds", ...faults }, true);
    await assertRejects(() => work(driver), DatabaseError);
    assertEquals([sent.includes("COMMIT"), sent.includes("ROLLBACK")], [true, false]);
  }
});

testOnPostgres(
  "canceled statements and ended connections show no rows of other users",
  async (url) => {
    await using of = await supabase(url);
    const seen = (user: number | null, post: { teamId: number; authorId: string; id: number }) =>
      post.id % 4 === 0 ||
      user !== null && (post.authorId === uid(user) || post.teamId === user % 7);
    // The role that logs in may read everything.
    await using acting = await actingApp(of, {}, { url });
    const admin = await openPostgres(url);
    let isOver = false;
    let faults = 0;
    let finished = 0;
    const disturb = async () => {
      while (!isOver) {
        // On a slow machine, more faults for each request would let nothing succeed.
        if (faults > finished / 2) {
          await new Promise((resolve) => setTimeout(resolve, 1));
          continue;
        }
        const text = `SELECT ${
          Math.random() < 0.15 ? "pg_terminate_backend" : "pg_cancel_backend"
        }(pid)
        FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
          AND application_name = 'resource-api' ORDER BY random() LIMIT 2`;
        faults += (await admin.query({ text, values: [] })).rows.length;
      }
    };
    const counts: Record<number, number> = {};
    const work = async (until: number, own: number | null) => {
      for (let n = 0; n < until; n++) {
        const user = own ?? (Math.random() < 0.2 ? null : 1 + Math.floor(Math.random() * 20));
        const kind = Math.floor(Math.random() * 4);
        const id = 1 + Math.floor(Math.random() * 300);
        const path = [`/posts/${id}`, "/posts?limit=50", "/posts/count", "/todos?limit=50"][kind];
        const { status, body } = await acting.send(user, "GET", path ?? "");
        counts[status] = (counts[status] ?? 0) + 1;
        finished++;
        if (status !== 200) continue;
        const rows = kind === 0 ? [body] : body.items ?? [];
        if (kind === 2) assert(body.count < 200, `${body.count} rows`);
        for (const row of rows) {
          assert(kind === 3 ? row.userId === uid(user ?? 0) : seen(user, row), JSON.stringify(row));
        }
      }
    };
    const disturbing = disturb();
    try {
      // The last clients belong to one user, so that their reads share transactions.
      await Promise.all(Array.from({ length: 22 }, (_one, n) => work(150, n < 16 ? null : 5)));
    } finally {
      isOver = true;
      await disturbing;
      await admin.close();
    }
    assert((counts[200] ?? 0) > 500 && faults > 50, JSON.stringify({ counts, faults }));
    const known = [200, 404, 422, 503];
    assertEquals(Object.keys(counts).filter((status) => !known.includes(Number(status))), []);
    // The next requests can still meet a connection that was ended a moment ago.
    let last = await acting.send(3, "GET", "/todos/count");
    for (let n = 0; n < 50 && last.status === 503; n++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      last = await acting.send(3, "GET", "/todos/count");
    }
    assertEquals(last.body.count, 20);
  },
);

testOnPostgres(
  "canceled and repeated writes have the role and the claims of their user",
  async (url) => {
    await using of = await supabase(url);
    // The role that logs in may write everything. The trigger notes who has written a row.
    await of.admin(`CREATE TABLE written (task text, role text, claims text, was text);
GRANT INSERT ON written TO authenticated;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN INSERT INTO written VALUES (NEW.task, current_user,
    current_setting(''request.jwt.claims'', true)::json ->> ''sub'', TG_OP); RETURN NULL; END';
CREATE TRIGGER note AFTER INSERT OR UPDATE ON todos FOR EACH ROW EXECUTE FUNCTION note()`);
    await using acting = await actingApp(of, {}, { url });
    const admin = await openPostgres(url);
    let isOver = false;
    let faults = 0;
    let finished = 0;
    const disturb = async () => {
      while (!isOver) {
        // On a slow machine, more faults for each request would let nothing succeed.
        if (faults > finished / 2) {
          await new Promise((resolve) => setTimeout(resolve, 1));
          continue;
        }
        const text = `SELECT ${
          Math.random() < 0.1 ? "pg_terminate_backend" : "pg_cancel_backend"
        }(pid)
        FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
          AND application_name = 'resource-api' AND state <> 'idle' ORDER BY random() LIMIT 1`;
        faults += (await admin.query({ text, values: [] })).rows.length;
      }
    };
    const counts: Record<number, number> = {};
    const work = async () => {
      for (let n = 0; n < 60; n++) {
        const user = 1 + Math.floor(Math.random() * 20);
        const task = `task of ${user}`;
        const answer = Math.random() < 0.5
          ? await acting.send(user, "POST", "/todos", { task })
          : await acting.send(user, "PATCH", `/todos/${1 + Math.floor(Math.random() * 400)}`, {
            task,
          });
        counts[answer.status] = (counts[answer.status] ?? 0) + 1;
        finished++;
        if (answer.status < 300) assertEquals(answer.body.userId, uid(user));
      }
    };
    const disturbing = disturb();
    try {
      await Promise.all(Array.from({ length: 16 }, work));
      isOver = true;
      await disturbing;
      const { rows } = await admin.query({
        text: `SELECT count(*), count(*) FILTER (WHERE role <> $1 OR right(claims, 2)::int <>
        substring(task FROM '[0-9]+$')::int) FROM written`,
        values: [of.authenticated],
      });
      const [[written, wrong] = []] = rows;
      assert(Number(written) > 100 && faults > 10, JSON.stringify({ counts, faults, written }));
      assertEquals(wrong, "0");
      const { rows: [[foreign] = []] } = await admin.query({
        text: `SELECT count(*) FROM todos WHERE task LIKE 'task of %'
        AND right(user_id::text, 2)::int <> substring(task FROM '[0-9]+$')::int`,
        values: [],
      });
      assertEquals(foreign, "0");
    } finally {
      isOver = true;
      await disturbing;
      await admin.close();
    }
    assertEquals(
      Object.keys(counts).filter((one) => ![200, 201, 404, 422, 503].includes(Number(one))),
      [],
    );
  },
);

testOnPostgres("a read with a role is one round trip, and a write is two", async (url) => {
  await using of = await supabase(url);
  await using proxy = countingProxy(of.url);
  await using acting = await actingApp(of, {}, { url: proxy.url });
  const requests: Record<string, () => Promise<{ status: number }>> = {
    get: () => acting.send(3, "GET", "/posts/4"),
    list: () => acting.send(3, "GET", "/todos?limit=5"),
    count: () => acting.send(3, "GET", "/todos/count"),
    anonymous: () => acting.send(null, "GET", "/posts/4"),
    create: () => acting.send(3, "POST", "/todos", { task: "a new task" }),
  };
  const costs: Record<string, number> = {};
  for (const [name, request] of Object.entries(requests)) {
    let least = Infinity;
    for (let turn = 0; turn < 5; turn++) {
      for (let seen = -1; seen !== proxy.traffic().messages;) {
        seen = proxy.traffic().messages;
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      proxy.reset();
      assert((await request()).status < 300);
      least = Math.min(least, proxy.traffic().roundTrips);
    }
    costs[name] = least;
  }
  assertEquals(costs, { get: 1, list: 1, count: 1, anonymous: 1, create: 2 });
});
