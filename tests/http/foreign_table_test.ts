import { assertEquals, assertMatch } from "@std/assert";
import { createApp } from "../../src/app.ts";
import { all } from "../../src/filter/builders.ts";
import { resource } from "../../src/resource/definition.ts";
import { testOnEngines } from "../support/http.ts";

// A table that somebody else made: its defaults are expressions that only the database knows.
const script = {
  sqlite: `CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    name VARCHAR(40) DEFAULT 'unnamed',
    token TEXT NOT NULL DEFAULT (lower('ABC') || '-1'),
    size INTEGER,
    doubled INTEGER GENERATED ALWAYS AS (size * 2) STORED)`,
  postgres: `CREATE TABLE jobs (
    id serial PRIMARY KEY,
    name varchar(40) DEFAULT 'unnamed',
    token text NOT NULL DEFAULT (lower('ABC') || '-1'),
    size int,
    doubled int GENERATED ALWAYS AS (size * 2) STORED)`,
};

testOnEngines(
  "a foreign table's own defaults fill a new row, and come back with PUT",
  async (engine) => {
    const db = await engine.open();
    try {
      await db.driver.query({ text: script[db.dialect.engine], values: [] });
      const [jobs] = (await db.introspect()).tables;
      if (jobs === undefined) throw new Error("The table was not found");
      const app = await createApp({
        db,
        secret: "a secret for the tests only",
        auth: {
          middleware: async (context, next) => {
            context.set("user", { id: "ada" });
            await next();
          },
        },
        resources: [
          resource(jobs, {
            id: "id",
            auth: { public: true, create: () => all(), update: () => all() },
          }),
        ],
      });
      const send = async (method: string, path: string, body: unknown) => {
        const answer = await app.fetch(
          new Request(`http://test/api/jobs${path}`, {
            method,
            headers: { "content-type": "application/json" },
            body: JSON.stringify(body),
          }),
        );
        return await answer.json();
      };
      const fresh = { id: 1, name: "unnamed", token: "abc-1", size: null, doubled: null };
      assertEquals(await send("POST", "", {}), fresh);
      const set = { name: "copy", token: "t", size: 4 };
      assertEquals(await send("PATCH", "/1", set), { id: 1, ...set, doubled: 8 });
      assertEquals(await send("PUT", "/1", { doubled: 9 }), fresh);
      const tooLong = await send("PATCH", "/1", { name: "x".repeat(41) });
      assertMatch(tooLong.detail, /name/);
    } finally {
      await db.close();
    }
  },
);
