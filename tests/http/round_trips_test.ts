/** What a request costs on Postgres, counted between the service and the server. */
import { assert, assertEquals } from "@std/assert";
import {
  createApp,
  eq,
  integer,
  openDatabase,
  resource,
  table,
  text,
  type User,
} from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { countingProxy, type PostgresTraffic } from "../support/counting_proxy.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text().notNull(),
  rank: integer(),
  version: integer().notNull().default(1),
});

type Send = (method: string, path: string, body?: object, ifMatch?: string) => Promise<Response>;

/** Runs `work` over an app with scopes, fields by user, ETags and the change log. */
async function withApp(
  url: string,
  work: (send: Send, traffic: (work: () => Promise<void>) => Promise<PostgresTraffic>) => Promise<
    void
  >,
): Promise<void> {
  await using proxy = countingProxy(url);
  const db = await openDatabase(proxy.url);
  await db.createTables([notes]);
  const own = (user: User | null) => eq(notes.ownerId, user?.id ?? "");
  const columns = [notes.id, notes.ownerId, notes.title, notes.rank, notes.version];
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { read: own, create: own, update: own, delete: own, subscribe: own },
        fields: { readable: { all: columns, by: () => columns } },
        etag: { versionField: notes.version },
      }),
    ],
    auth: { use: [{ name: "test", identify: () => ({ user: { id: "ada" } }) }] },
    runtime: { ...systemRuntime(() => {}), cron: undefined },
  });
  const send: Send = async (method, path, body, ifMatch) => {
    const json = body === undefined ? null : JSON.stringify(body);
    const headers = {
      ...(json === null
        ? {}
        : { "content-type": "application/json", "content-length": `${json.length}` }),
      ...(ifMatch === undefined ? {} : { "if-match": ifMatch }),
    };
    return await app.fetch(
      new Request(`http://localhost/api/notes${path}`, { method, headers, body: json }),
    );
  };
  try {
    await work(send, async (some) => {
      // After a write, the service reads the change log.
      for (let seen = -1; seen !== proxy.traffic().messages;) {
        seen = proxy.traffic().messages;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      proxy.reset();
      await some();
      return proxy.traffic();
    });
  } finally {
    await app.close();
  }
}

const note = { ownerId: "ada", title: "a note" };

testOnPostgres(
  "a request is one statement and one round trip",
  (url) =>
    withApp(url, async (send, traffic) => {
      const requests: Record<string, (id: number) => Promise<Response>> = {
        get: (id) => send("GET", `/${id}`),
        list: () => send("GET", "?filter=rank%3E3&orderBy=rank&limit=2"),
        count: () => send("GET", "/count?filter=rank%3E3"),
        aggregate: () => send("GET", "/aggregate?groupBy=rank&count=true"),
        create: () => send("POST", "", note),
        "PATCH, If-Match": (id) => send("PATCH", `/${id}`, { title: "new" }, 'W/"1"'),
        PATCH: (id) => send("PATCH", `/${id}`, { title: "new" }),
        "DELETE, If-Match": (id) => send("DELETE", `/${id}`, undefined, 'W/"1"'),
        DELETE: (id) => send("DELETE", `/${id}`),
      };
      const costs: Record<string, readonly [number, number]> = {};
      for (const [name, request] of Object.entries(requests)) {
        let least: readonly [number, number] = [Infinity, Infinity];
        // The first use of a statement describes it, and once a second the roles are read.
        for (let turn = 0; turn < 5; turn++) {
          const { id } = await (await send("POST", "", note)).json();
          const { statements, roundTrips } = await traffic(async () => {
            const response = await request(id);
            const body = await response.text();
            assert(response.ok, body);
          });
          if (roundTrips < least[1]) least = [statements, roundTrips];
        }
        costs[name] = least;
      }
      assertEquals(costs, Object.fromEntries(Object.keys(requests).map((name) => [name, [1, 1]])));
    }),
);

testOnPostgres(
  "a stale If-Match needs no transaction",
  (url) =>
    withApp(url, async (send, traffic) => {
      let least = Infinity;
      for (let turn = 0; turn < 5; turn++) {
        const { id } = await (await send("POST", "", note)).json();
        const { statements, roundTrips } = await traffic(async () => {
          const response = await send("PATCH", `/${id}`, { title: "new" }, 'W/"7"');
          assertEquals([response.status, response.headers.get("etag")], [412, null]);
          await response.body?.cancel();
        });
        assertEquals(statements, roundTrips);
        least = Math.min(least, roundTrips);
      }
      // The UPDATE without a match, and the read of the row. A transaction would add two statements.
      assertEquals(least, 2);
    }),
);

testOnPostgres(
  "requests at the same time share round trips",
  (url) =>
    withApp(url, async (send, traffic) => {
      const many = async (send: (n: number) => Promise<Response>) => {
        const responses = await Promise.all(Array.from({ length: 32 }, (_, n) => send(n + 1)));
        for (const response of responses) {
          assert(response.ok);
          await response.body?.cancel();
        }
      };
      const create = () => many(() => send("POST", "", note));
      const get = () => many((n) => send("GET", `/${n}`));
      const patch = () => many((n) => send("PATCH", `/${n}`, { title: "new" }));
      for (const [run, most] of [[create, 5], [get, 5], [patch, 5]] as const) {
        let least = Infinity;
        for (let turn = 0; turn < 5; turn++) {
          least = Math.min(least, (await traffic(run)).roundTrips);
        }
        assert(least <= most, `${least} round trips`);
      }
    }),
);
