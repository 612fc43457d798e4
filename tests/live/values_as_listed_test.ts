import { assertEquals } from "@std/assert";
import { all, createApp, type Database, resource } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { engines } from "../support/engines.ts";
import { openEventStream } from "../support/event_stream.ts";
import { run } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

/** Types of Postgres, and values of them that JSON says in part or in another form. */
const values: readonly (readonly [type: string, value: string])[] = [
  ["int[]", "'[0:1]={5,6}'"],
  ["int[]", "'[-1:0][2:3]={{1,2},{NULL,4}}'"],
  ["int[]", "'{}'"],
  ["json[]", `ARRAY['{"a":1}'::json, 'null', NULL]`],
  ["jsonb[]", `ARRAY['{"a": 1e3}'::jsonb, 'null', NULL]`],
  ["json[]", `'[2:2][1:1]={{"{\\"a\\": 1}"}}'`],
  ["held", `ROW('null', '[0:0]={1}', '\\x00ff', '{NaN}', '[1,5)', '1 day', 'null', 'b')`],
  ["held", "ROW(NULL, NULL, NULL, NULL, 'empty', NULL, NULL, NULL)"],
  ["held[]", "ARRAY[ROW('null', '{}', '', '{}', NULL, NULL, '[null]', 'b')::held, NULL]"],
  ["listed", "'[3:4]={a,NULL}'"],
  ["kept", "ROW('null', NULL)"],
  ["float8[]", "'{NaN,-Infinity,0.1,-0}'"],
  ["numeric(9,2)[]", "'{NaN,1.5}'"],
  ["timestamptz[]", `'{"2024-01-01 00:00+02",infinity,"0044-03-15 00:00:00+00 BC"}'`],
  ["date[]", "'{2024-02-29,-infinity}'"],
  ["interval[]", "'{1 year 2 mons -3 days}'"],
  ["bytea[]", `'{"\\\\x00ff",""}'`],
  ["char(4)[]", "'{a,bc}'"],
  ["int4range[]", `'{"[1,5)",empty}'`],
  ["int4range", "'(1,9]'"],
  ["nummultirange", "'{[1.50,2),[3,)}'"],
  ["tstzrange", "'[2024-01-01 00:00+02,)'"],
  ["tstzrange[]", `'{"[2024-01-01 00:00+02,infinity]"}'`],
  ["interval", "'-1 day 02:03:04.5'"],
  ["box[]", "'{(3,4),(1,2);(9,9),(1,1)}'"],
  ["oidvector", "'1 2'"],
  ["json", `'{"a":1,"a":2,  "b":1e400}'`],
  ["numeric", "'NaN'"],
  ["char(4)", "'ab'"],
  ["flags", "'t'"],
  ["shelf", `'a=>1, "b c"=>NULL'`],
  ["hstore", `'a=>1, "b c"=>NULL'`],
  ["hstore[]", `ARRAY['a=>NULL'::hstore]`],
  ["casted", "'(1,2)'"],
];

const script = `
  CREATE EXTENSION hstore;
  CREATE TYPE held AS (j json, l int[], b bytea, n float8[], r int4range, i interval, k jsonb, c char(3));
  CREATE DOMAIN listed AS text[];
  CREATE TYPE held_pair AS (j json, l int[]);
  CREATE DOMAIN kept AS held_pair;
  CREATE DOMAIN flags AS boolean;
  CREATE DOMAIN shelf AS hstore;
  CREATE TYPE casted AS (a int, b int);
  CREATE FUNCTION casted_json(casted) RETURNS json LANGUAGE sql AS $$ SELECT '1'::json $$;
  CREATE CAST (casted AS json) WITH FUNCTION casted_json(casted);
  CREATE TABLE l (id int PRIMARY KEY, "r" int[], x int${
  values.map(([type], index) => `, "v ""${index}" ${type}`).join("")
})`;

for (const engine of engines.filter(({ name }) => name === "postgres")) {
  for (const mode of ["triggers", "service"] as const) {
    testUnless(
      engine.ignore ?? null,
      `${engine.name} ${mode}: a stream has the rows and the tags of a list, whatever their types`,
      async () => {
        const db = await engine.open();
        for (const text of script.split(";\n")) await run(db, text);
        await insert(db, 1);
        const { tables } = await db.introspect();
        const app = await createApp({
          db,
          secret: "a secret for the tests only",
          runtime: systemRuntime(() => {}),
          changes: { mode },
          auth: {
            middleware: async (context, next) => {
              context.set("user", { id: "ada" });
              await next();
            },
          },
          resources: tables.map((table) =>
            resource(table, {
              id: ["id"],
              etag: {},
              auth: { public: true, create: all, update: all, delete: all },
            })
          ),
        });
        const alive = setInterval(() => {}, 60_000);
        const send = (path: string, init?: RequestInit) =>
          app.fetch(new Request(`http://test/api/l${path}`, init));
        const stream = await openEventStream(
          (signal) => send("/subscribe", { signal }),
          () => {},
        );
        const same = async (items: readonly unknown[]) => {
          const [listed] = (await (await send("")).json()).items;
          const read = await send("/1");
          assertEquals(await read.json(), listed);
          assertEquals(items, [{ ...listed, _etag: read.headers.get("etag") }]);
        };
        const [synced] = await stream.untilSynced();
        await same(synced?.data.items);
        const patch = async (id: number, x: number, tag: string | undefined) => {
          const response = await send(`/${id}`, {
            method: "PATCH",
            headers: {
              "content-type": "application/json",
              ...(tag === undefined ? {} : { "if-match": tag }),
            },
            body: JSON.stringify({ x }),
          });
          assertEquals(response.status, 200, await response.text());
        };
        await patch(1, 2, synced?.data.items[0]._etag);
        const [changed] = await stream.take(1);
        await same([changed?.data.item]);
        await patch(1, 3, changed?.data.item._etag);
        await stream.take(1);
        if (mode === "triggers") {
          await db.driver.transaction(async (connection) => {
            const run = (text: string) => connection.query({ text, values: [] });
            await run("SET LOCAL TimeZone = 'Asia/Tokyo'");
            await run("SET LOCAL DateStyle = 'German'");
            await run("SET LOCAL bytea_output = 'escape'");
            await run("SET LOCAL IntervalStyle = 'iso_8601'");
            await run("UPDATE l SET x = 4");
          });
          const [other] = await stream.take(1);
          await same([other?.data.item]);
          await patch(1, 5, other?.data.item._etag);
          await stream.take(1);
        }
        clearInterval(alive);
        await stream.close();
        await app.close();
        await db.close();
      },
    );
  }
}

async function insert(db: Database, id: number): Promise<void> {
  const list = values.map(([, value]) => value).join(", ");
  await run(db, `INSERT INTO l VALUES (${id}, '[0:0]={7}', 1, ${list})`);
}
