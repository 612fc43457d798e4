import { assertEquals } from "@std/assert";
import { and, eq, gt, integer, resource, table, text } from "../../../../mod.ts";
import { hiddenMark } from "../../../support/http.ts";
import { anyEngine, withDashboard } from "./dashboard_service.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  owner: text(),
  tenant: text(),
  rank: integer(),
});

const config = () => ({
  subscribe: { maxPerAddress: 600 },
  resources: [resource(notes, {
    id: notes.id,
    auth: {
      public: { subscribe: () => gt(notes.rank, 5) },
      subscribe: (user) => and(eq(notes.owner, user.id), eq(notes.tenant, `${hiddenMark}of a`)),
    },
    fields: { readable: [notes.id, notes.owner, notes.rank] },
  })],
});

Deno.test("the report of streams has those that are open, and no value of a hidden column", () =>
  withDashboard(anyEngine, [notes], config, async ({ subscribe, report }) => {
    assertEquals(await report("streams"), { streams: [], total: 0, isComplete: true });
    const before = Date.now();
    const ada = await subscribe("/api/notes/subscribe?filter=rank%3D%3D7", { "x-user": "ada" }, {
      remoteAddr: { transport: "tcp", hostname: "192.0.2.1" },
    });
    await ada.take(1);
    const open = await subscribe("/api/notes/aggregate/subscribe?count=true");
    await open.take(1);
    const { streams, ...rest } = await report("streams");
    assertEquals(rest, { total: 2, isComplete: true });
    const [first, second] = streams;
    assertEquals(Math.abs(first.since - before) < 5_000, true, "it began during the test");
    assertEquals({ ...first, since: 0 }, {
      ...{ id: 1, kind: "rows", resource: "notes", user: "ada", address: "192.0.2.1", since: 0 },
      filter: '(rank>5,owner=="ada";tenant=="•••");rank==7',
      ...{ isLive: true, isPart: false },
    });
    assertEquals({ ...second, since: 0 }, {
      ...{ id: 2, kind: "aggregates", resource: "notes", user: null, address: null },
      ...{ since: 0, filter: "rank>5", isLive: null, isPart: false },
    });
    await ada.close();
    const after = await report("streams");
    assertEquals(after.streams.map(({ id }: { id: number }) => id), [2]);
    await open.close();
  }));

Deno.test("the report of streams shows 500 of them, and how many there are", () =>
  withDashboard(anyEngine, [notes], config, async ({ app, report }) => {
    const signals: AbortController[] = [];
    for (let count = 0; count < 502; count++) {
      const ending = new AbortController();
      signals.push(ending);
      const { signal } = ending;
      await app.fetch(new Request("http://test/api/notes/subscribe", { signal }));
    }
    const { streams, total, isComplete } = await report("streams");
    assertEquals([streams.length, total, isComplete], [500, 502, false]);
    for (const ending of signals) ending.abort();
  }));
