import { assert, assertEquals, assertMatch } from "@std/assert";
import { all, eq } from "../../src/filter/builders.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";
import { engines } from "../support/engines.ts";
import { insertRows, testOnDialects, testOnEveryEngine } from "../support/http.ts";
import { comparable, lastToken, openMultiplexed } from "./multiplexed_support.ts";
import { ada, notes, withNotes } from "./notes.ts";

const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

testOnEveryEngine(
  "fifty lists and aggregates on one stream get byte for byte what single streams get",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const { db, send, subscribe } = service;
      const rows = Array.from(
        { length: 20 },
        (_, id) => ({ id, title: `t${id}`, rank: id % 5, version: 1 }),
      );
      await insertRows(db, notes, rows);
      const paths = Array.from({ length: 50 }, (_, n) =>
        n % 5 === 4
          ? `/api/notes/aggregate/subscribe?groupBy=rank&count=true&filter=id>=${n}`
          : `/api/notes/subscribe?filter=id>=${n - 30}&select=id,title${
            n % 2 === 0 ? "" : ",rank"
          }`);
      const multiplexed = await openMultiplexed(
        service,
        paths.map((path, n) => ({ key: `k${n}`, path })),
      );
      const singles = await Promise.all(paths.map((path) =>
        subscribe(path)
      ));
      const isSynced = (text: string) => /"hasMore":false/.test(text);
      await multiplexed.until(() => [...multiplexed.texts.values()].filter(isSynced).length === 50);
      for (const single of singles) await single.next();
      await send("POST", "/api/notes", { id: 100, title: "new", rank: 1 }, ada);
      await send("PATCH", "/api/notes/7", { title: "other" }, ada);
      await send("DELETE", "/api/notes/8", undefined, ada);
      for (let n = 0; n < 3; n++) {
        await send("POST", "/api/notes", { id: 200 + n, title: "last", rank: 77 }, ada);
      }
      const isDone = (text: string) => /"id":202|"rank":77},"count":3/.test(text);
      await multiplexed.until(() => [...multiplexed.texts.values()].filter(isDone).length === 50);
      for (const [n, single] of singles.entries()) {
        while (!isDone(single.text)) await single.next();
        const text = multiplexed.texts.get(`k${n}`) ?? "";
        assertEquals(comparable(text), comparable(single.text));
        await single.close();
      }
      await multiplexed.close();
    }, { subscribe: { maxPerAddress: 100 } }),
);

testOnDialects(
  "the first event of a key says what its rows are, and of an aggregate nothing",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const stream = await openMultiplexed(service, [
        { key: "rows", path: "/api/notes/subscribe?select=title" },
        { key: "groups", path: "/api/notes/aggregate/subscribe?count=true" },
        {
          key: "some",
          path: "/api/notes/subscribe?filter=rank>1;not(title=icontains=x,id==9007199254740993)",
        },
      ]);
      await stream.until(() => stream.texts.get("rows")?.includes("hasMore") === true);
      await stream.until(() => stream.texts.get("some")?.includes("hasMore") === true);
      const compare = (field: string, type: string, operator: string, value: unknown) => ({
        ...{ kind: "compare", field, type, operator, values: [value] },
      });
      assertEquals<unknown>(stream.facts.get("some")?.["filter"], {
        kind: "and",
        terms: [compare("rank", "integer", ">", 1), {
          kind: "not",
          term: {
            kind: "or",
            terms: [compare("title", "text", "=icontains=", "x"), { kind: "unknown" }],
          },
        }],
      });
      await stream.until(() => stream.texts.get("groups")?.includes("hasMore") === true);
      const { some: _some, ...facts } = Object.fromEntries(stream.facts);
      assertEquals(facts, {
        rows: {
          type: "subscription",
          key: "rows",
          primaryKey: ["id"],
          // Not the hidden ones.
          types: { id: "integer", ownerId: "text", title: "text", rank: "integer" },
          defaults: { ownerId: null, rank: null },
        },
        groups: {
          type: "subscription",
          key: "groups",
          primaryKey: null,
          types: null,
          defaults: null,
        },
      });
      await stream.close();
    }),
);

testOnDialects(
  "a refused key has the problem of its GET, and harms no other",
  (engine) =>
    withNotes(engine, {
      auth: { update: () => all(), subscribe: (user) => eq(notes.ownerId, user.id) },
    }, async (service) => {
      const { get, send, db } = service;
      const paths = {
        unknown: "/api/nothing/subscribe",
        hidden: "/api/notes/subscribe?filter=secret==x",
        malformed: "/api/notes/subscribe?filter=id==",
        group: "/api/notes/aggregate/subscribe?groupBy=secret",
        row: "/api/notes/subscribe/1",
      };
      await insertRows(db, notes, [{ id: 1, ownerId: "ada", title: "a", version: 1 }]);
      const stream = await openMultiplexed(service, [
        ...Object.entries(paths).map(([key, path]) => ({ key, path })),
        { key: "good", path: "/api/notes/subscribe" },
        { key: "list", path: "/api/notes" },
      ], { headers: ada });
      await stream.until(() => stream.refused.size === 6);
      for (const [key, path] of Object.entries(paths)) {
        const { status, body } = await get(path, ada);
        const { problem, ...refused } = stream.refused.get(key) ?? {};
        assertEquals(refused, { type: "refused", key, status, retryAfter: null });
        assertEquals(problem, body);
      }
      const { status, problem } = stream.refused.get("list") ?? {};
      assertEquals([status, Object(problem).code], [400, "INVALID_PARAMETER"]);
      await stream.until(() => stream.texts.get("good")?.includes('"title":"a"') === true);
      await send("PATCH", "/api/notes/1", { title: "later" }, ada);
      await stream.until(() => stream.texts.get("good")?.includes("later") === true);
      assertEquals(stream.ended, []);
      await stream.close();
      // Where nothing is opened, the stream ends.
      const anonymous = await openMultiplexed(service, [{
        key: "a",
        path: "/api/notes/subscribe",
      }]);
      await anonymous.untilEnd();
      assertEquals(anonymous.refused.get("a")?.["status"], 401);
    }),
);

testOnEveryEngine(
  "each key resumes at its own token, or begins again",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const { send } = service;
      const paths = ["/api/notes/subscribe?filter=id<100", "/api/notes/subscribe?filter=id>=100"];
      const asked = paths.map((path, n) => ({ key: `${n}`, path }));
      const first = await openMultiplexed(service, asked);
      await first.until(() =>
        asked.every(({ key }) => lastToken(first.texts.get(key) ?? "") !== "")
      );
      await first.close();
      const tokens = asked.map(({ key }) => lastToken(first.texts.get(key) ?? ""));
      await send("POST", "/api/notes", { id: 1, title: "missed" }, ada);
      await send("POST", "/api/notes", { id: 100, title: "missed" }, ada);
      const [low = "", high = ""] = tokens;
      const second = await openMultiplexed(service, [
        { key: "low", path: paths[0] ?? "", resumeFrom: low },
        { key: "high", path: paths[1] ?? "", resumeFrom: high },
        { key: "other", path: paths[1] ?? "", resumeFrom: low },
      ]);
      const texts = () => ["low", "high", "other"].map((key) => second.texts.get(key) ?? "");
      await second.until(() => texts().every((text) => text.includes("missed")));
      const events = texts().map((text) =>
        [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)
      );
      assertEquals(events, [["added"], ["added"], ["invalidate", "existing"]]);
      await second.close();
    }),
);

testOnDialects(
  "a client that leaves frees every part, its place and its work",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const dear = (n: number) => encodeURIComponent(`title%="%${"_".repeat(90)}${n}%"`);
      const asked = Array.from({ length: 8 }, (_, n) => ({
        key: `${n}`,
        path: `/api/notes/subscribe?filter=${dear(n)}`,
      }));
      for (let round = 0; round < 5; round++) {
        const stream = await openMultiplexed(service, asked);
        const synced = () => [...stream.texts.values()].filter((text) => text.includes("hasMore"));
        await stream.until(() => synced().length + stream.refused.size === 8);
        // The same in each round: the work of the filters counts together, and is freed.
        assertEquals(stream.refused.size, 0);
        await stream.close();
      }
      assertEquals(service.observations, []);
    }, { subscribe: { maxPerAddress: 1 } }),
);

Deno.test("where the credential ends, every key ends, and the stream with them", async () => {
  let now = 0;
  await withNotes(sqlite, {}, async (service) => {
    now = Math.floor(Date.now() / 1000) + 2;
    const asked = ["a", "b", "c"].map((key) => ({ key, path: "/api/notes/subscribe" }));
    const stream = await openMultiplexed(service, asked, { headers: ada });
    await stream.untilEnd();
    assertEquals(stream.ended.toSorted(), ["a", "b", "c"]);
    for (const { key } of asked) {
      assertMatch(stream.texts.get(key) ?? "", /"reason":"auth_expired"\}\n\nid:\n\n$/);
    }
  }, {
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada", claims: { exp: now } });
        await next();
      },
    },
  });
});

testOnDialects(
  "a stop ends the stream as a whole, with the position of every key",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const asked = ["a", "b", "c", "d"].map((key) => ({ key, path: "/api/notes/subscribe" }));
      const stream = await openMultiplexed(service, asked);
      const textOf = (key: string) => stream.texts.get(key) ?? "";
      await stream.until(() => asked.every(({ key }) => lastToken(textOf(key)) !== ""));
      await service.send("POST", "/api/notes", { id: 1, title: "last" }, ada);
      const tokens = () => asked.map(({ key }) => /"last"[^]*\nid: (\S+)/.exec(textOf(key))?.[1]);
      await stream.until(() => tokens().every((token) => token !== undefined));
      const before = tokens();
      service.app.drain();
      await stream.untilEnd();
      assertEquals(stream.ended, []);
      const last = asked.map(({ key }) => /id: (\S+)\n\nretry: \d+\n\n$/.exec(textOf(key))?.[1]);
      assertEquals(last, before);
      const late = await openMultiplexed(service, asked);
      await late.untilEnd();
      const { status, retryAfter } = late.refused.get("a") ?? {};
      assertEquals([status, retryAfter], [503, 3]);
    }),
);

Deno.test("the parts of a stream take turns: a large list does not hold up a small one", () =>
  withNotes(sqlite, {}, async (service) => {
    const rows = Array.from({ length: 20_000 }, (_, id) => ({
      ...{ id, title: `t${id} `.repeat(100), version: 1, rank: 0 },
    }));
    await insertRows(service.db, notes, rows);
    const stream = await openMultiplexed(service, [
      { key: "large", path: "/api/notes/subscribe" },
      { key: "as large", path: "/api/notes/subscribe?filter=id>=0" },
      // By its key: a scan of the table would take its turns as a query, beside those of the stream.
      { key: "small", path: "/api/notes/subscribe?filter=id==0" },
    ]);
    // A client that reads slowly: the large lists have forty pages each, and wait for it.
    while (stream.texts.get("small")?.includes('"hasMore":false') !== true) {
      const { length } = stream.blocks;
      await stream.until(() => stream.blocks.length > length);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert(stream.texts.get("large")?.includes('"hasMore":false') !== true);
    await stream.until(() => stream.texts.get("large")?.includes('"hasMore":false') === true);
    await stream.until(() => stream.texts.get("as large")?.includes('"hasMore":false') === true);
    const switches = stream.blocks.filter((block) => block.startsWith("event: subscription"));
    assert(switches.length >= 8, `${switches.length}`);
    await stream.close();
  }));

Deno.test("a stream has one lifetime, and every key its heartbeats", async () => {
  const { clock, advance } = handClock();
  const runtime = { ...systemRuntime(() => {}), clock };
  await withNotes(sqlite, {}, async (service) => {
    const asked = ["a", "b", "c"].map((key) => ({ key, path: "/api/notes/subscribe" }));
    const stream = await openMultiplexed(service, asked);
    const textOf = (key: string) => stream.texts.get(key) ?? "";
    await stream.until(() => asked.every(({ key }) => lastToken(textOf(key)) !== ""));
    const tokensOf = (key: string) => [...textOf(key).matchAll(/^id: \S+$/gm)].length;
    for (let second = 0; second < 60; second++) advance(1_000);
    await stream.until(() => asked.every(({ key }) => tokensOf(key) >= 4));
    for (let second = 0; second < 30 * 60; second++) {
      advance(1_000);
      await Promise.resolve();
    }
    await stream.untilEnd();
    assertEquals(stream.ended, []);
    const delays = asked.map(({ key }) => /id: \S+\n\n(retry: \d+)\n\n$/.exec(textOf(key))?.[1]);
    assertMatch(delays[0] ?? "", /^retry: 1?\d{1,3}$/);
    assertEquals(delays, [delays[0], delays[0], delays[0]]);
  }, { runtime });
});
