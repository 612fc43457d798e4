import { assertEquals } from "@std/assert";
import { createApp, resource } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { quoteIdentifier as quoted } from "../../src/sql/fragment.ts";
import { testOnDialects } from "../support/http.ts";
import { run } from "../support/scratch.ts";

const names = [
  ...["group by", "1st", "a.b", "a,b", "a;b", "a=b", "(a)", 'say "hi"', "back\\slash", "it's"],
  ...["-minus", "x:desc", " ends ", "null==", "data.0", "žluť 👍", "%", "and", "not (x)"],
];

/** As a client writes it, whatever it holds. */
const selector = (name: string) => JSON.stringify(name);

// deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
type Json = any;

testOnDialects("a quoted name is a selector of any column and relation", async (engine) => {
  const db = await engine.open();
  try {
    const columns = names.map((name) => `${quoted(name)} INTEGER`).join(", ");
    await run(db, `CREATE TABLE things (id INTEGER PRIMARY KEY, ${columns})`);
    await run(
      db,
      `CREATE TABLE parts (id INTEGER PRIMARY KEY, "of thing_id" INTEGER REFERENCES things)`,
    );
    for (const id of [1, 2]) {
      const values = names.map((_, index) => String(id * 100 + index));
      await run(db, `INSERT INTO things VALUES (${[id, ...values].join(", ")})`);
      await run(db, `INSERT INTO parts VALUES (${id}, ${id})`);
    }
    const tables = (await db.introspect()).tables;
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: { ...systemRuntime(() => {}), cron: undefined },
      resources: tables.map((table) =>
        resource(table, {
          id: "id",
          auth: { public: true },
          ...(table.name === "parts" && {
            relations: {
              "of thing": {
                ...{ type: "belongsTo", resource: "things", foreignKey: "of thing_id" },
                filterable: true,
              },
            },
          }),
        })
      ),
    });
    const get = async (path: string, query: Record<string, string>): Promise<Json> =>
      await (await app.fetch(new Request(`http://test/api/${path}?${new URLSearchParams(query)}`)))
        .json();
    try {
      for (const [index, name] of names.entries()) {
        await assertSelected(get, name, index);
      }
      const { items: [part] } = await get("parts", {
        filter: names.map((name, index) => `"of thing".${selector(name)}==${200 + index}`)
          .slice(0, 16).join(" and "),
        include: `"of thing"(select:"a,b","a;b","(a)";orderBy:-"a;b",id;limit:1)`,
      });
      assertEquals(part["of thing"], { "a,b": 203, "a;b": 204, "(a)": 206 });
      await assertRefused(get);
    } finally {
      await app.close();
    }
  } finally {
    await db.close();
  }
});

async function assertSelected(
  get: (path: string, query: Record<string, string>) => Promise<Json>,
  name: string,
  index: number,
): Promise<void> {
  const own = selector(name);
  const [low, high] = [100 + index, 200 + index];
  const listed = async (query: Record<string, string>) =>
    (await get("things", { select: own, ...query })).items?.map((item: Json) => item[name]);
  assertEquals(await listed({ filter: `${own}==${high}` }), [high], name);
  assertEquals(await listed({ filter: `${own} =in= (${low});(${own}<${high})` }), [low], name);
  assertEquals(await listed({ orderBy: `-${own}` }), [high, low], name);
  assertEquals(await listed({ orderBy: `${own}:desc,id` }), [high, low], name);
  const page = await get("things", { select: own, orderBy: own, limit: "1" });
  assertEquals(
    await listed({ orderBy: own, limit: "1", cursor: page.nextCursor }),
    [high],
    name,
  );
  const aggregate = await get("things/aggregate", {
    ...{ groupBy: `${own},id`, sum: own, avg: `id,${own}`, having: `${selector(`max_${name}`)}>0` },
    orderBy: `-${selector(`sum_${name}`)}`,
  });
  assertEquals(aggregate.groups?.map(({ sum }: Json) => sum[name]), [high, low], name);
}

async function assertRefused(
  get: (path: string, query: Record<string, string>) => Promise<Json>,
): Promise<void> {
  const detail = async (query: Record<string, string>, path = "things") =>
    (await get(path, query)).detail;
  const near = `Did you mean "group by"?`;
  assertEquals(
    await detail({ filter: `"group  by"==1` }),
    `Cannot filter by "group  by" at 0: there is no field of this name to filter by. ${near}`,
  );
  assertEquals(
    await detail({ filter: `"of thing"."group_by"==1` }, "parts"),
    String
      .raw`Cannot filter by "\"of thing\".\"group_by" at 0: there is no field of this name to ` +
      `filter by. Did you mean "of thing"."group by"?`,
  );
  assertEquals(
    await detail({ orderBy: "-groupby" }),
    `Cannot order by "groupby": it is not a sortable field. ${near}`,
  );
  assertEquals(
    await detail({ groupBy: "say hi" }, "things/aggregate"),
    String
      .raw`Cannot use "say hi" in groupBy: it is not a field for that. Did you mean "say \"hi\""?`,
  );
  assertEquals(
    await detail({ select: "groupby" }),
    `Cannot select "groupby": there is no field of this name. ${near}`,
  );
  const unclosed = "the quote is not closed";
  assertEquals(await detail({ select: 'id,"a' }), `Cannot read the names at 3: ${unclosed}`);
  assertEquals(await detail({ orderBy: '-"a' }), `Cannot read the names at 1: ${unclosed}`);
  assertEquals(await detail({ filter: '"a' }), `Cannot read the filter at 0: ${unclosed}`);
  assertEquals(await detail({ include: '"of' }, "parts"), `Cannot read include at 0: ${unclosed}`);
  assertEquals(
    await detail({ filter: "group by==1" }),
    'Cannot read the filter at 6: expected an operator, got "by==1"; quote a field that is no ' +
      'plain word, as in "first name"==Ada',
  );
}
