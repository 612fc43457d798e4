import { assertEquals, assertStringIncludes } from "@std/assert";
import { all, createApp, resource } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { engines } from "../support/engines.ts";
import { run } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

for (const engine of engines.filter(({ name }) => name === "postgres")) {
  testUnless(
    engine.ignore ?? null,
    `${engine.name}: labels that an enum gets while a service runs are filtered by and written`,
    async () => {
      const db = await engine.open();
      await run(db, "CREATE TYPE mood AS ENUM ('sad', 'ok')");
      await run(db, "CREATE DOMAIN felt AS mood");
      await run(db, "CREATE TYPE day AS (feel mood)");
      await run(db, "CREATE TABLE team (id int PRIMARY KEY)");
      await run(
        db,
        `CREATE TABLE note (id int PRIMARY KEY, team int REFERENCES team, feel mood, f felt,
          moods mood[], day day)`,
      );
      await run(db, "INSERT INTO team VALUES (1)");
      await run(db, "INSERT INTO note VALUES (1, 1, 'sad', 'ok', '{ok}', ROW('ok'))");
      const { tables } = await db.introspect();
      const app = await createApp({
        db,
        secret: "a secret for the tests only",
        runtime: systemRuntime(() => {}),
        auth: {
          middleware: async (context, next) => {
            context.set("user", { id: "ada" });
            await next();
          },
        },
        resources: tables.map((table) =>
          resource(table, {
            id: ["id"],
            auth: { public: { read: true }, create: all, update: all, delete: all },
          })
        ),
      });
      const ask = async (method: string, path: string, body?: unknown) => {
        const response = await app.fetch(
          new Request(`http://test/api/${path}`, {
            method,
            headers: { "content-type": "application/json" },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          }),
        );
        return [response.status, await response.json()] as const;
      };
      const found = async (filter: string) => {
        const [status, body] = await ask("GET", `note?filter=${encodeURIComponent(filter)}`);
        return status === 200 ? body.items.map(({ id }: { id: number }) => id) : body.detail;
      };
      const add = (label: string, place = "") =>
        run(db, `ALTER TYPE mood ADD VALUE '${label}' ${place}`);

      await add("glad");
      assertEquals(await found("feel==glad"), []);
      await add("mad", "BEFORE 'sad'");
      assertEquals((await ask("PATCH", "note/1", { feel: "mad" }))[0], 200);
      assertEquals(await found("feel<sad"), [1]);
      await add("calm");
      assertEquals((await ask("PATCH", "note/1", { f: "calm", moods: ["calm"] }))[0], 200);
      await add("new");
      assertEquals((await ask("PATCH", "note/1", { day: { feel: "new" } }))[0], 200);
      await add("late");
      assertEquals((await ask("POST", "note/batch", { items: [{ id: 2, feel: "late" }] }))[0], 201);
      await add("has");
      assertEquals(await found("moods=has=has"), []);
      await add("far");
      assertEquals(await found("feel=in=(far,mad)"), [1]);

      // The name of a renamed label is refused with the names that there are.
      await run(db, "ALTER TYPE mood RENAME VALUE 'mad' TO 'cross'");
      assertStringIncludes(await found("feel==mad"), "must be one of: cross, sad");
      assertEquals(await found("feel==cross"), [1]);
      await run(db, "ALTER TYPE mood RENAME VALUE 'late' TO 'tardy'");
      const [status, refused] = await ask("PATCH", "note/1", { feel: "late" });
      assertEquals(status, 422);
      assertStringIncludes(JSON.stringify(refused), "must be one of: cross, sad");
      assertStringIncludes(JSON.stringify(refused), "tardy");
      assertEquals((await ask("PATCH", "note/1", { feel: "tardy" }))[0], 200);
      assertEquals((await ask("PATCH", "note/1", { feel: "never" }))[0], 422);
      await app.close();
      await db.close();
    },
  );
}
