import { assertEquals, assertRejects } from "@std/assert";
import { ada, withNotes } from "../live/notes.ts";
import { testOnEngines, testOnEveryEngine } from "../support/http.ts";
import { run } from "../support/scratch.ts";

testOnEveryEngine(
  "upkeep() deletes what is too old, for a host on which no timer runs",
  async (engine) =>
    await withNotes(engine, {}, async ({ app, db, send }) => {
      const create = async (title: string) => {
        const headers = { ...ada, "idempotency-key": `"key of ${title}"` };
        assertEquals((await send("POST", "/api/notes", { title }, headers)).status, 201);
      };
      const count = async (table: string) => {
        const { rows } = await run(db, `SELECT count(*) FROM ${table}`);
        return Number(rows[0]?.[0]);
      };
      await create("old");
      const isPostgres = db.dialect.engine === "postgres";
      const twoHours = isPostgres ? "interval '2 hours'" : "7200";
      await run(db, `UPDATE _service_changes SET at = at - ${twoHours}`);
      await run(db, "UPDATE _service_idempotency SET expires_at = 1, lease_until = 1");
      await create("new");
      assertEquals([await count("_service_changes"), await count("_service_idempotency")], [2, 2]);
      await app.upkeep();
      assertEquals([await count("_service_changes"), await count("_service_idempotency")], [1, 1]);
      assertEquals(await count("notes"), 2);
    }, { idempotency: { storage: "db" } }),
);

testOnEngines(
  "upkeep() rejects where the database does, so that a cron of the host fails",
  async (engine) =>
    await withNotes(engine, {}, async ({ app, db }) => {
      await run(db, "ALTER TABLE _service_changes RENAME TO gone");
      await assertRejects(() => app.upkeep());
      await run(db, "ALTER TABLE gone RENAME TO _service_changes");
      await app.upkeep();
    }),
);
