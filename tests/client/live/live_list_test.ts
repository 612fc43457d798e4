import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  createClient,
  liveAggregate,
  liveList,
  prefetch,
  reconnect,
} from "../../../exports/client.ts";
import { all } from "../../../src/filter/builders.ts";
import { resource } from "../../../src/resource/define/resource_definition.ts";
import { bigint, decimal, integer, text, timestamp } from "../../../src/schema/column_builder.ts";
import { table } from "../../../src/schema/table.ts";
import type { Engine } from "../../support/engines.ts";
import {
  insertRows,
  type Service,
  testOnDialects,
  testOnEveryEngine,
  withService,
} from "../../support/http.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { until } from "../support/until.ts";

const ada = { "x-user": "ada" };

const things = table("things", {
  id: integer().primaryKey(),
  name: text(),
  big: bigint(),
  price: decimal({ precision: 30, scale: 4 }),
  at: timestamp(),
});

type Thing = {
  id: number;
  name: string | null;
  big: string | null;
  price: string | null;
  at: string | null;
};

interface Api {
  things: {
    path: "/api/things";
    key: number;
    row: Thing;
    create: Partial<Thing>;
    update: Partial<Thing>;
    relations: Record<never, never>;
    etag: true;
    procedures: Record<never, never>;
  };
}

function withThings(engine: Engine, work: (service: Service) => Promise<void>): Promise<void> {
  const rights = { create: () => all(), update: () => all(), delete: () => all() };
  const withPause = async (service: Service) => {
    await work(service);
    // A connection without lists closes a little later, for a page that opens others.
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  return withService(engine, [things], () => ({
    resources: [
      resource(things, {
        id: things.id,
        auth: { public: true, ...rights },
        etag: {},
        capabilities: { enableBatch: true },
      }),
      resource(things, {
        id: things.id,
        path: "own",
        auth: { read: () => all(), subscribe: () => all() },
        pagination: { maxLimit: 6 },
      }),
    ],
  }), withPause);
}

/** A client of a service in this process. What breaks its streams is called for each one. */
function clientOf({ app }: Service, { breaks = () => {}, token = null }: {
  readonly breaks?: (end: () => void) => void;
  readonly token?: (() => string | null) | null;
} = {}) {
  return createClient<Api & { own: Api["things"] }>({
    baseUrl: "http://test",
    environment: fastEnvironment(20),
    headers: token === null ? { "x-user": "ada" } : {},
    async fetch(request) {
      const user = token?.() ?? null;
      if (user !== null) request.headers.set("x-user", user);
      const breaking = new AbortController();
      const response = await app.fetch(
        new Request(request, { signal: AbortSignal.any([request.signal, breaking.signal]) }),
      );
      if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
        breaks(() => breaking.abort());
        const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
        response.body?.pipeTo(writable, { signal: breaking.signal }).catch(() => {});
        return new Response(readable, response);
      }
      return response;
    },
  });
}

const rows: readonly Thing[] = [
  { id: 1, name: "b", big: "9007199254740993", price: "-0.5", at: "2024-01-01T00:00:00.000Z" },
  { id: 2, name: "\uffff", big: "-10", price: "-10", at: "2024-01-01T00:00:00.000500Z" },
  { id: 3, name: "😀", big: "9", price: "9.5", at: "1999-12-31T23:59:59.999Z" },
  { id: 4, name: null, big: null, price: null, at: null },
  { id: 5, name: "B", big: "10", price: "10.0001", at: "2024-01-01T00:00:00.000499Z" },
  { id: 6, name: "", big: "-9007199254740993", price: "0", at: "2024-01-01T00:00:00.001Z" },
  { id: 7, name: "b", big: "0", price: "123456789012345678901234.5", at: null },
];

testOnEveryEngine(
  "a live list has the order of a list, whatever the kind of its fields",
  (engine) =>
    withThings(engine, async (service) => {
      const api = clientOf(service);
      await insertRows(service.db, things, rows.slice(0, 3));
      const fields = ["name", "big", "price", "at"] as const;
      const orders = fields.flatMap((field) => [[field], [`-${field}`]] as const);
      const lists = orders.map((orderBy) => liveList(api.things, { orderBy: [...orderBy] }));
      const closings = lists.map((list) => list.subscribe(() => {}));
      await Promise.all(lists.map((list) => until(list, ({ items }) => items.length === 3)));
      await insertRows(service.db, things, rows.slice(3));
      for (const [index, list] of lists.entries()) {
        const { items } = await until(list, ({ items }) => items.length === rows.length);
        const orderBy = orders[index] ?? [];
        const page = await api.things.list({ orderBy: [...orderBy], limit: 100 });
        assertEquals(items.map(({ id }) => id), page.items.map(({ id }) => id), `${orderBy}`);
      }
      closings.forEach((end) => end());
    }),
);

testOnDialects(
  "a list with a limit whose rows are too large says so, and other lists are live",
  (engine) =>
    withThings(engine, async (service) => {
      const api = clientOf(service);
      const name = "x".repeat(400_000);
      await insertRows(service.db, things, [1, 2, 3].map((id) => ({ ...rows[3], id, name })));
      const large = liveList(api.things, { limit: 5 });
      const small = liveList(api.things, { limit: 2 });
      const closings = [large, small].map((list) => list.subscribe(() => {}));
      const { status, error } = await until(large, ({ error }) => error !== null);
      assertEquals([status, error?.slug, error?.status, error?.message], [
        ...["stale", "query-too-expensive", 422],
        "Cannot follow the list: its rows have more than 1 MiB. Use a smaller limit, or select " +
        "fewer fields",
      ]);
      assert((error?.retryAfterMs ?? 0) > 10_000, "the list tries again after a pause");
      await until(small, ({ status, items }) => status === "live" && items.length === 2);
      // A row that grows has the same effect as one that was large before.
      await insertRows(service.db, things, [{ ...rows[3], id: 0, name: name + name + name }]);
      await until(small, ({ error }) => error?.slug === "query-too-expensive");
      closings.forEach((end) => end());
    }),
);

testOnDialects(
  "rows with equal values stay in the order of their keys, which select omits",
  (engine) =>
    withThings(engine, async (service) => {
      const api = clientOf(service);
      await insertRows(service.db, things, rows);
      const query = { orderBy: ["name"], select: ["name"] } as const;
      for (const id of [109, 110, 1100]) {
        await service.send("POST", "/api/things", { id, name: "tie" }, ada);
      }
      const list = liveList(api.things, query);
      const end = list.subscribe(() => {});
      await until(list, ({ status }) => status === "live");
      for (const name of ["other", "tie"]) {
        await service.send("PATCH", "/api/things/109", { name }, ada);
      }
      await service.send("PATCH", "/api/things/110", { name: "tie2" }, ada);
      await until(list, ({ items }) => items.some(({ name }) => name === "tie2"));
      const ids = list.get().items.map((row) => Object(row).id);
      const { items } = await api.things.list({ ...query, select: ["id", "name"] });
      assertEquals(ids, items.map(({ id }) => id));
      assertEquals(Object.keys(list.get().items[0] ?? {}).includes("id"), false);
      // A program may freeze its seed, as libraries for the state of a page do.
      const seed = list.seed() ?? undefined;
      seed?.items.forEach(Object.freeze);
      const seeded = liveList(api.things, { ...query, seed: Object.freeze(seed) });
      assertEquals(seeded.get().items.map((row) => Object(row).id), ids);
      end();
    }),
);

testOnDialects(
  "a list with a limit keeps the first rows of its order, also after its stream has broken",
  (engine) =>
    withThings(engine, async (service) => {
      const breaks: (() => void)[] = [];
      const api = clientOf(service, { breaks: (end) => breaks.push(end) });
      await insertRows(service.db, things, rows);
      const list = liveList(api.things, { orderBy: ["-id"], limit: 3, select: ["name"] });
      const sizes = new Set<number>();
      const end = list.subscribe(({ items }) => sizes.add(items.length));
      const shows = (...names: (string | null)[]) =>
        until(list, ({ items, status }) =>
          status === "live" && JSON.stringify(items.map(({ name }) =>
              name
            )) ===
            JSON.stringify(names));
      await shows("b", "", "B");
      await service.send("POST", "/api/things", { id: 8, name: "new" }, ada);
      await shows("new", "b", "");
      await service.send("DELETE", "/api/things/7", undefined, ada);
      await shows("new", "", "B");
      for (const end of breaks) end();
      await service.send("DELETE", "/api/things/8", undefined, ada);
      await shows("", "B", null);
      assertEquals([...sizes], [0, 3], "a commit is shown as a whole");
      end();
    }),
);

testOnDialects(
  "a longer window shows the rows of the shorter one until it has all its own",
  (engine) =>
    withThings(engine, async (service) => {
      const breaks: (() => void)[] = [];
      const api = clientOf(service, { breaks: (end) => breaks.push(end) });
      await insertRows(service.db, things, rows);
      const list = liveList(api.things, { orderBy: ["-id"], limit: 2 });
      list.loadMore();
      const seen: string[] = [];
      const end = list.subscribe(({ items, status, hasMore }) => {
        const state = `${status} ${items.map(({ id }) => id).join("")} ${hasMore}`;
        if (seen.at(-1) !== state) seen.push(state);
      });
      const shows = (...ids: number[]) =>
        until(list, ({ items }) => items.map(({ id }) => id).join() === ids.join());
      await shows(7, 6);
      // The second call changes nothing, because the rows of the first one have not arrived.
      list.loadMore();
      list.get().loadMore();
      await shows(7, 6, 5, 4);
      list.loadMore(3);
      await service.send("POST", "/api/things", { id: 8, name: "new" }, ada);
      await shows(8, 7, 6, 5, 4, 3, 2);
      assertEquals(seen.filter((state) => !state.startsWith("live 8")), [
        ...["connecting  false", "live 76 true", "live 7654 true"],
        ...seen.filter((state) => state.startsWith("live 765432")),
      ]);
      for (const id of [8, 5]) await service.send("DELETE", `/api/things/${id}`, undefined, ada);
      assertEquals((await shows(7, 6, 4, 3, 2, 1)).hasMore, false);
      breaks.at(-1)?.();
      await service.send("POST", "/api/things", { id: 9, name: "new" }, ada);
      assertEquals((await shows(9, 7, 6, 4, 3, 2, 1)).hasMore, true);
      end();
      list.loadMore();
      assertEquals(list.get().items.length, 7, "a list without listeners stays as it is");
    }),
);

testOnDialects(
  "a window has at most as many rows as the service permits",
  (engine) =>
    withThings(engine, async (service) => {
      const api = clientOf(service);
      await insertRows(service.db, things, rows);
      const list = liveList(api.own, { limit: 5, select: ["name"] });
      const end = list.subscribe(() => {});
      await until(list, ({ items }) => items.length === 5);
      // The cast makes the call that a handler of a page makes without types.
      list.loadMore(new Event("click") as never);
      const { hasMore, loadMore } = await until(list, ({ items }) => items.length === 6);
      assertEquals(hasMore, false, "there are more rows, but no longer window");
      loadMore();
      for (const count of [0, -1, 1.5, Infinity]) {
        assertThrows(() => loadMore(count), TypeError, `Cannot load ${count}`);
      }
      await service.send("PATCH", "/api/things/1", { name: "changed" }, ada);
      await until(list, ({ items }) => items[0]?.name === "changed");
      end();
      const whole = liveList(api.own);
      const close = whole.subscribe(() => {});
      assertEquals((await until(whole, ({ items }) => items.length === 7)).hasMore, false);
      assertThrows(() => whole.loadMore(), TypeError);
      close();
    }),
);

testOnDialects(
  "a live aggregate on the stream of a window counts all of its rows",
  (engine) =>
    withThings(engine, async (service) => {
      let streams = 0;
      const api = clientOf(service, { breaks: () => streams++ });
      await insertRows(service.db, things, rows);
      const filter = "name!=null";
      const latest = liveList(api.things, { filter, orderBy: ["-id"], limit: 2 });
      const total = liveAggregate(api.things, { filter, count: true });
      const ends = [latest.subscribe(() => {}), total.subscribe(() => {})];
      const counts = async (count: number, ...ids: number[]) => {
        await until(total, ({ groups: [group] }) => group?.count === count);
        await until(latest, ({ items }) => items.map(({ id }) => id).join() === ids.join());
      };
      await counts(6, 7, 6);
      await service.send("POST", "/api/things", { id: 8, name: "new" }, ada);
      await counts(7, 8, 7);
      await service.send("DELETE", "/api/things/1", undefined, ada);
      await counts(6, 8, 7);
      assertEquals(streams, 1);
      ends.forEach((end) => end());
    }),
);

testOnDialects(
  "the rows of one commit become visible together",
  (engine) =>
    withThings(engine, async (service) => {
      const list = liveList(clientOf(service).things, { orderBy: ["-name"] });
      const counts: number[] = [];
      const end = list.subscribe(({ items }) => counts.push(items.length));
      await until(list, ({ status }) => status === "live");
      for (let round = 0; round < 5; round++) {
        const items = Array.from({ length: 20 }, (_, n) => ({ id: round * 20 + n, name: `${n}` }));
        assertEquals((await service.send("POST", "/api/things/batch", { items }, ada)).status, 201);
      }
      await until(list, ({ items }) => items.length === 100);
      assertEquals(counts.filter((count) => count % 20 !== 0), []);
      end();
    }),
);

testOnDialects(
  "a list of which streams break again and again misses nothing",
  (engine) =>
    withThings(engine, async (service) => {
      const ends: (() => void)[] = [];
      const api = clientOf(service, { breaks: (end) => ends.push(end) });
      const list = liveList(api.things);
      const seen = new Set<string>();
      const end = list.subscribe(({ status }) => seen.add(status));
      await until(list, ({ status }) => status === "live");
      for (let id = 0; id < 30; id++) {
        await service.send("POST", "/api/things", { id, name: "new" }, ada);
        if (id % 3 === 0) await service.send("DELETE", `/api/things/${id}`, undefined, ada);
        else if (id % 3 === 1) {
          await service.send("PATCH", `/api/things/${id}`, { name: "changed" }, ada);
        }
        if (id % 7 === 0) {
          await until(list, ({ status }) => status === "live");
          ends.at(-1)?.();
          await until(list, ({ status }) => status !== "live");
        }
      }
      const { items } = await service.get("/api/things?limit=100").then(({ body }) => body);
      await until(list, (shown) => same(shown.items, items));
      assert(ends.length > 3, "the streams were broken");
      assertEquals([...seen].sort(), ["connecting", "live", "stale"]);
      end();
    }),
);

/** Live rows have their tags beside the fields. */
function same(live: readonly object[], items: readonly object[]): boolean {
  const plain = live.map((row) => ({ ...row, _etag: undefined }));
  return JSON.stringify(plain) === JSON.stringify(items);
}

testOnDialects(
  "a list continues after its seed, and sends no snapshot again",
  (engine) =>
    withThings(engine, async (service) => {
      const api = clientOf(service);
      await insertRows(service.db, things, rows);
      const seed = JSON.parse(JSON.stringify(await prefetch(api.things, { select: ["name"] })));
      await service.send("DELETE", "/api/things/3", undefined, ada);
      const list = liveList(api.things, { select: ["name"], seed });
      assertEquals(list.get().items.length, rows.length);
      const sizes = new Set<number>();
      const end = list.subscribe(({ items }) => sizes.add(items.length));
      await until(list, ({ status }) => status === "live");
      assertEquals([...sizes], [rows.length, rows.length - 1]);
      end();
    }),
);

testOnDialects(
  "sixty lists and aggregates take two streams, and all are live",
  (engine) =>
    withThings(engine, async (service) => {
      let streams = 0;
      const api = clientOf(service, { breaks: () => streams++ });
      const lists = Array.from(
        { length: 60 },
        (_, n) => liveList(api.things, { filter: `id==${n}` }),
      );
      const closings = lists.map((list) => list.subscribe(() => {}));
      await Promise.all(lists.map((list) => until(list, ({ status }) => status === "live")));
      assertEquals(streams, 2);
      await insertRows(service.db, things, rows);
      await Promise.all(
        lists.slice(1, 7).map((list) => until(list, ({ items }) => items.length === 1)),
      );
      closings.forEach((end) => end());
    }),
);

testOnDialects(
  "a live aggregate has the result of the aggregate",
  (engine) =>
    withThings(engine, async (service) => {
      const count = liveAggregate(clientOf(service).things, { count: true });
      const end = count.subscribe(() => {});
      await until(count, ({ status }) => status === "live");
      await insertRows(service.db, things, rows);
      await until(count, ({ groups }) => JSON.stringify(groups) === '[{"key":null,"count":7}]');
      end();
    }),
);

testOnDialects(
  "a list without the right waits for a sign-in, one that cannot be is closed",
  (engine) =>
    withThings(engine, async (service) => {
      let user: string | null = null;
      const api = clientOf(service, { token: () => user });
      const own = liveList(api.own);
      const wrong = liveList(api.things, { filter: "nothing==1" as string });
      const open = liveList(api.things);
      const closings = [own, wrong, open].map((list) => list.subscribe(() => {}));
      const refused = await until(own, ({ status }) => status !== "connecting");
      assertEquals([refused.status, refused.error?.status], ["needs-auth", 401]);
      const closed = await until(wrong, ({ status }) => status !== "connecting");
      assertEquals([closed.status, closed.error?.status], ["closed", 400]);
      await until(open, ({ status }) => status === "live");
      user = "ada";
      reconnect(api);
      await until(own, ({ status }) => status === "live");
      assertEquals(open.get().status, "live");
      closings.forEach((end) => end());
      await assertRejects(
        () => prefetch(api.things, { filter: "nothing==1" as string }),
        Error,
        "nothing",
      );
    }),
);

testOnDialects(
  "where a changed set is refused for a while, the old stream stays",
  (engine) =>
    withThings(engine, async (service) => {
      let isOverloaded = false;
      let refusals = 0;
      const api = createClient<Api>({
        ...{ baseUrl: "http://test", environment: fastEnvironment(20), headers: ada },
        fetch(request) {
          if (!isOverloaded || !request.url.endsWith("/__service/live")) {
            return service.app.fetch(request);
          }
          refusals++;
          const problem = { code: "OVERLOADED", detail: "Overloaded" };
          return Response.json(problem, { status: 503, headers: { "retry-after": "1" } });
        },
      });
      const list = liveList(api.things);
      const states = new Set<string>();
      const closings = [list.subscribe(({ status }) => states.add(status))];
      await until(list, ({ status }) => status === "live");
      isOverloaded = true;
      const other = liveList(api.things, { filter: "id==2" });
      closings.push(other.subscribe(() => {}));
      while (refusals < 2) await new Promise((resolve) => setTimeout(resolve, 10));
      await insertRows(service.db, things, rows);
      await until(list, ({ items }) => items.length === rows.length);
      assertEquals([...states], ["connecting", "live"]);
      isOverloaded = false;
      await until(other, ({ items }) => items.length === 1);
      assertEquals([...states], ["connecting", "live"]);
      closings.forEach((end) => end());
    }),
);
