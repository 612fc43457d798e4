import { assertEquals, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { createApp, openDatabase, resource } from "../../mod.ts";
import type { Observation } from "../../exports/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { createScratchDatabase, everyEngine } from "../support/engines.ts";
import { runScript, scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const script = `
  CREATE TABLE s (id int PRIMARY KEY, code text, net inet);
  CREATE VIEW divided AS SELECT 1 / (id - 1) AS x, id FROM s;
  CREATE VIEW cast_code AS SELECT code::int AS x, id FROM s;
  CREATE VIEW dated AS SELECT (code || '-99-99')::date AS x, id FROM s;
  CREATE VIEW taken AS SELECT ('{1,2}'::int[])[id] AS x, sqrt(1 - id) AS root, id FROM s;
  CREATE FUNCTION refuse() RETURNS int LANGUAGE plpgsql AS
    $$BEGIN RAISE EXCEPTION 'not today' USING ERRCODE = 'division_by_zero'; END$$;
  CREATE VIEW refused AS SELECT id, refuse() AS x FROM s;
`;

/** The requests, and the status of each: a value of the client is never taken for a fault of a view. */
const cases: readonly (readonly [string, number])[] = [
  ["divided", 500],
  ["divided?select=x&orderBy=-x&limit=5&totalCount=true", 500],
  ["divided?filter=x==1", 500],
  ["divided/count?filter=x%3E1", 500],
  ["divided/aggregate?max=x", 500],
  ["divided/1", 500],
  ["divided/2", 200],
  ["cast_code", 500],
  ["cast_code/aggregate?groupBy=x&count=true", 500],
  ["dated?orderBy=x", 500],
  ["taken?filter=root%3E1", 500],
  ["s?filter=net==nowhere", 400],
  ["s?filter=net==10.0.0.1", 200],
  ["s/aggregate?sum=id", 200],
  // What a function raises on purpose reaches the client.
  ["refused", 400],
];

for (const engine of everyEngine.filter(({ name }) => name.startsWith("p"))) {
  testUnless(
    engine.ignore ?? null,
    `an error of a view is no fault of the client (${engine.name})`,
    async () => {
      const db = await engine.open();
      try {
        await runScript(db.driver, script);
        const { tables } = await db.introspect();
        await runScript(db.driver, "INSERT INTO s VALUES (1, 'a', '10.0.0.1'), (2, 'b', NULL)");
        const failed: Observation[] = [];
        const app = await createApp({
          db,
          secret: "a secret for the tests only",
          runtime: systemRuntime((one) => one.kind === "request_failed" && failed.push(one)),
          resources: tables.map((table) =>
            resource<Record<string, unknown>, unknown>(table, {
              id: "id",
              auth: { public: { read: true } },
            })
          ),
        });
        for (const [path, expected] of cases) {
          failed.length = 0;
          const answer = await app.fetch(new Request(`http://test/api/${path}`));
          const body = await answer.text();
          assertEquals([path, answer.status], [path, expected], body);
          assertEquals([path, failed.length], [path, expected === 500 ? 1 : 0]);
          assertEquals(/zero|syntax|SELECT|22012/.test(body), false, body);
          if (path === "refused") assertEquals(JSON.parse(body).detail, "not today");
        }
        await app.close();
      } finally {
        await db.close();
      }
    },
  );
}

const server = testPostgres();

testUnless(
  "missing" in server ? server.missing : null,
  "a view that writes was a database that is not available, for each of its reads",
  async () => {
    if ("missing" in server) throw new Error(server.missing);
    const scratch = await createScratchDatabase(server.url);
    const writable = await openDatabase(scratch.url);
    await runScript(
      writable.driver,
      `CREATE TABLE s (id int PRIMARY KEY);
       INSERT INTO s VALUES (1);
       CREATE SEQUENCE counter;
       CREATE VIEW counted AS SELECT id, nextval('counter') AS x FROM s`,
    );
    await writable.close();
    const db = await openDatabase(scratch.url, { readOnly: true });
    const { tables } = await db.introspect();
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      resources: tables.map((table) =>
        resource<Record<string, unknown>, unknown>(table, {
          id: "id",
          auth: { public: { read: true } },
          capabilities: { enableExport: true, enableSubscribe: false },
        })
      ),
    });
    for (const path of ["", "/1", "?filter=x>1", "/aggregate?max=x", "?totalCount=true"]) {
      const answer = await app.fetch(new Request(`http://test/api/counted${path}`));
      const { code, detail } = await answer.json();
      assertEquals([answer.status, code], [403, "FORBIDDEN"], path);
      assertStringIncludes(detail, "nextval()");
    }
    const headers = { accept: "application/x-ndjson" };
    const exported = await app.fetch(new Request("http://test/api/counted", { headers }));
    assertEquals(exported.status, 403);
    await exported.body?.cancel();
    assertEquals((await app.fetch(new Request("http://test/api/s"))).status, 200);
    await app.close();
    await db.close();
    await scratch.drop();
  },
);

for (const driver of ["sqlite", "node-sqlite"]) {
  Deno.test(`a file with a view that accepts writes was not opened for reading only (${driver})`, async () => {
    await using folder = await scratchFolder();
    const path = `${folder.path}/views.db`;
    {
      using program = new DatabaseSync(path);
      program.exec(`CREATE TABLE s (id INTEGER PRIMARY KEY);
        INSERT INTO s VALUES (1);
        CREATE VIEW v AS SELECT id FROM s;
        CREATE TRIGGER v_new INSTEAD OF INSERT ON v BEGIN INSERT INTO s VALUES (NEW.id); END;`);
    }
    const db = await openDatabase(`${driver}:${path}`, { readOnly: true });
    const { tables } = await db.introspect();
    const auth = { public: { read: true } } as const;
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      resources: tables.map((table) => resource(table, { id: "id", auth })),
    });
    const page = await (await app.fetch(new Request("http://test/api/v"))).json();
    assertEquals(page.items, [{ id: 1 }]);
    await app.close();
    await db.close();
  });
}
