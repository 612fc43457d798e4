import { assertEquals, assertMatch } from "@std/assert";
import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { trackMutations } from "../../src/app/track_mutations.ts";
import { all } from "../../src/filter/builders.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { testOnEngines } from "../support/http.ts";
import { openEventStream } from "../support/event_stream.ts";
import { run, scratchFolder } from "../support/scratch.ts";

const create = "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT)";

for (const scheme of ["sqlite", "node-sqlite"]) {
  Deno.test(`another program's write to its own file leaves no stream silent, nor a resumed one live (${scheme})`, async () => {
    await using folder = await scratchFolder();
    const url = `${scheme}:${folder.path}/notes.db`;
    const other = await openDatabase(url);
    await run(other, create);
    await run(other, "INSERT INTO notes VALUES (1, 'old')");
    const service = await serve(url);
    assertMatch(service.notices.join(), /"notes" in .*at each write of another program/);
    const stream = await service.subscribe({});
    await stream.untilSynced();
    await run(other, "UPDATE notes SET title = 'new'");
    const [event] = await stream.take(1);
    assertEquals([event?.type, event?.data.reason], ["invalidate", "untracked_write"]);
    const [page] = await stream.take(1);
    assertEquals([page?.type, page?.data.items[0].title], ["existing", "new"]);
    await service.send(2);
    const [added] = await stream.take(1);
    assertEquals([added?.type, added?.data.item.id], ["added", 2]);
    const token = stream.lastEventId;
    await stream.close();
    await service.close();

    await run(other, "UPDATE notes SET title = 'newer'");
    const again = await serve(url);
    const resumed = await again.subscribe({ "last-event-id": token });
    const [first] = await resumed.take(1);
    assertEquals([first?.type, first?.data.reason], ["invalidate", "untracked_write"]);
    await resumed.close();
    await again.close();
    await other.close();
  });
}

testOnEngines(
  "a custom route's writes to an introspected table reach the streams once it is tracked",
  async (engine) => {
    const db = await engine.open();
    await run(db, create);
    const { tables } = await db.introspect();
    await trackMutations(db, tables);
    const notices: Observation[] = [];
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: systemRuntime((observation) => notices.push(observation)),
      resources: tables.map((table) =>
        resource(table, { id: ["id"], auth: { public: { read: true, subscribe: true } } })
      ),
    });
    assertEquals(notices.filter(({ kind }) => kind === "notice"), []);
    const stream = await openEventStream(
      (signal) => app.fetch(new Request("http://test/api/notes/subscribe", { signal })),
      () => {},
    );
    await stream.untilSynced();
    await run(db, "INSERT INTO notes VALUES (1, 'by a custom route')");
    const [added] = await stream.take(1);
    assertEquals([added?.type, added?.data.item.title], ["added", "by a custom route"]);
    await stream.close();
    await app.close();
    await db.close();
  },
);

testOnEngines(
  "a notice at the start says what streams do not see of introspected tables",
  async (engine) => {
    const db = await engine.open();
    await run(db, create);
    const { tables } = await db.introspect();
    const notices: Observation[] = [];
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: systemRuntime((observation) => notices.push(observation)),
      resources: tables.map((table) =>
        resource(table, { id: ["id"], auth: { public: { read: true, subscribe: true } } })
      ),
    });
    const [notice] = notices.filter(({ kind }) => kind === "notice");
    assertMatch(
      notice?.kind === "notice" ? notice.message : "",
      /^of "notes" in .* only the writes of this service are recorded: .*trackMutations/,
    );
    await app.close();
    await db.close();
  },
);

async function serve(url: string) {
  const db = await openDatabase(url);
  const { tables } = await db.introspect();
  const notices: string[] = [];
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "somebody" });
        await next();
      },
    },
    runtime: systemRuntime((one) => void (one.kind === "notice" && notices.push(one.message))),
    resources: tables.map((table) =>
      resource(table, {
        id: ["id"],
        auth: { public: { read: true, subscribe: true }, create: () => all() },
      })
    ),
  });
  // Timers that poll for changes keep no process alive, and the test waits for nothing else.
  const alive = setInterval(() => {}, 60_000);
  return {
    notices,
    close: async () => {
      clearInterval(alive);
      await app.close();
    },
    subscribe: (headers: Record<string, string>) =>
      openEventStream(
        (signal) => app.fetch(new Request("http://test/api/notes/subscribe", { headers, signal })),
        () => {},
      ),
    send: async (id: number) => {
      const answer = await app.fetch(
        new Request("http://test/api/notes", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ id, title: "own" }),
        }),
      );
      assertEquals(answer.status, 201, await answer.text());
    },
  };
}
