import { assertEquals } from "@std/assert";
import { testOnEveryEngine } from "../../support/http.ts";
import { runScript } from "../../support/scratch.ts";

const scripts = {
  sqlite:
    `CREATE TABLE jobs (id INTEGER PRIMARY KEY, state VARCHAR(9), due_at DATETIME, done BOOLEAN);
    INSERT INTO jobs VALUES (1, 'ok', '2026-01-01 00:00:00', 1);`,
  postgres: `CREATE TYPE state AS ENUM ('ok', 'bad');
    CREATE TABLE jobs (id int4 PRIMARY KEY, state state, due_at timestamp, done boolean);
    INSERT INTO jobs VALUES (1, 'ok', '2026-01-01 00:00:00', true);`,
};

testOnEveryEngine(
  "db.sql reads and writes the formats of a table that another program made",
  async (engine) => {
    const db = await engine.open();
    try {
      await runScript(db.driver, scripts[db.dialect.engine]);
      const { tables: [jobs] } = await db.introspect();
      if (jobs === undefined) throw new Error("There is a table");
      await db.sql`INSERT INTO ${jobs} (id, state, due_at, done)
        VALUES (${2}, ${"bad"}, ${"2026-01-01T13:00:00+01:00"}, ${false})`;
      const { rows } = await db.sql`SELECT * FROM ${jobs}
        WHERE due_at > ${"2026-01-01T11:59:59Z"} AND state = ${"bad"} AND done = ${false}`;
      const dueAt = "2026-01-01T12:00:00.000Z";
      assertEquals(rows, [{ id: 2, state: "bad", due_at: dueAt, done: false }]);
      const updated = await db.sql`UPDATE ${jobs} SET due_at = ${new Date(dueAt)}, state = ${null}
        WHERE id IN ${[1, 2]} AND due_at < ${dueAt} RETURNING id, due_at AS due, state`;
      assertEquals(updated.rows, [{ id: 1, due: dueAt, state: null }]);
    } finally {
      await db.close();
    }
  },
);
