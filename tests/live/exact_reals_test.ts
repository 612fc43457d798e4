import { assertEquals } from "@std/assert";
import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { openEventStream } from "../support/event_stream.ts";
import { run, scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { missingSqliteShell, sqliteShell } from "../support/sqlite_shell.ts";

for (const scheme of ["sqlite", "node-sqlite"]) {
  testUnless(
    missingSqliteShell,
    `a number that the sqlite3 command prints with 15 digits passes a stream's filter as the list's (${scheme})`,
    async () => {
      await using folder = await scratchFolder();
      const path = `${folder.path}/r.db`;
      const db = await openDatabase(`${scheme}:${path}`);
      await run(db, "CREATE TABLE readings (id INTEGER PRIMARY KEY, score REAL, note TEXT)");
      const { tables } = await db.introspect();
      const app = await createApp({
        db,
        secret: "a secret for the tests only",
        runtime: systemRuntime(() => {}),
        changes: { mode: "triggers" },
        resources: tables.map((table) =>
          resource(table, { id: ["id"], auth: { public: { read: true, subscribe: true } } })
        ),
      });
      const evaluateInDatabase = (path: string, signal?: AbortSignal) =>
        app.fetch(
          new Request(
            `http://test/api/readings${path}?filter=${encodeURIComponent("score>0.3")}`,
            signal === undefined ? {} : { signal },
          ),
        );
      // Timers that look for changes keep no process alive, and the test waits for nothing else.
      const alive = setInterval(() => {}, 60_000);
      const stream = await openEventStream(
        (signal) => evaluateInDatabase("/subscribe", signal),
        () => {},
      );
      await stream.untilSynced();
      // 0.30000000000000004, which is 0.3 with 15 digits; the other one is 0.3.
      await sqliteShell(
        path,
        `INSERT INTO readings (id, score) VALUES (1, 0.3), (2, 0.1 + 0.2);
        UPDATE readings SET note = 'again';
        INSERT INTO readings (id, score) VALUES (3, 5);\n`,
      );
      const events = [];
      for (let id = 0; id < 3;) {
        const [event] = await stream.take(1);
        events.push(event);
        id = event?.data.item.id;
      }
      assertEquals(events.map((event) => [event?.type, event?.data.item]), [
        ["added", { id: 2, score: 0.30000000000000004, note: null }],
        ["changed", { id: 2, score: 0.30000000000000004, note: "again" }],
        ["added", { id: 3, score: 5, note: null }],
      ]);
      const { items } = await (await evaluateInDatabase("")).json();
      assertEquals(items, [events[1]?.data.item, events[2]?.data.item]);
      clearInterval(alive);
      await stream.close();
      await app.close();
      await db.close();
    },
  );
}
