import { assertEquals } from "@std/assert";
import { createApp } from "../../src/app/app.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { engines } from "../support/engines.ts";
import { testUnless } from "../support/skip.ts";
import type { Database } from "../../src/db/database.ts";

const things = table("things", {
  id: integer().primaryKey(),
  a: integer(),
  b: integer(),
  code: integer().unique(),
  name: text(),
  state: integer().notNull(),
});

/** The indexes are those of a user who has never heard of NULLS LAST. */
const indexes = ["a", "b, id", "state", "name"];

for (const engine of engines) {
  testUnless(
    engine.ignore ?? null,
    `the pages of a list have the rows of one sorted SELECT, with NULLs last (${engine.name})`,
    async () => {
      const db = await engine.open();
      try {
        await fill(db);
        await comparePages(db);
      } finally {
        await db.close();
      }
    },
  );
}

async function fill(db: Database): Promise<void> {
  await db.createTables([things]);
  for (const [place, columns] of indexes.entries()) {
    await run(db, `CREATE INDEX things_${place} ON things (${columns})`);
  }
  const cells = Array.from({ length: 48 }, (_, index) => {
    const id = index + 1;
    const orNull = (isNull: boolean, value: string) => isNull ? "NULL" : value;
    return `(${
      [
        id,
        orNull(id % 4 === 0, String((id * 7) % 5)),
        orNull(id % 3 === 0, String((id * 11) % 4)),
        orNull(id % 6 === 1, String((id * 37) % 61)),
        orNull(id % 5 === 2, `'n${(id * 5) % 7}'`),
        id % 3,
      ].join(", ")
    })`;
  });
  await run(db, `INSERT INTO things (id, a, b, code, name, state) VALUES ${cells.join(", ")}`);
}

async function run(db: Database, text: string) {
  return await db.driver.query({ text, values: [] });
}

/** Each filter with the same condition in SQL. */
const filters = [
  ["", "1=1"],
  ["state=in=(0,1)", "state IN (0, 1)"],
  ["a=isnull=true,b==2", "(a IS NULL OR b = 2)"],
  ["a=isnull=false", "a IS NOT NULL"],
] as const;

async function comparePages(db: Database): Promise<void> {
  const app = await createApp({
    db,
    secret: "sixteen or more characters",
    resources: [resource(things, { id: things.id, auth: { public: { read: true } } })],
  });
  const get = async (query: string) => {
    const response = await app.fetch(new Request(`http://localhost/api/things?${query}`));
    const body = await response.json();
    assertEquals(response.status, 200, `${query}: ${JSON.stringify(body)}`);
    return body;
  };
  for (const [index, order] of orders().entries()) {
    const [filter, condition] = filters[index % filters.length] ?? filters[0];
    const orderBy = order.map(([name, isDown]) => `${isDown ? "-" : ""}${name}`).join(",");
    const sorted = [...order, ["id", false] as const].map(([name, isDown]) =>
      `${name}${isDown ? " DESC" : ""} NULLS LAST`
    );
    const { rows } = await run(
      db,
      `SELECT id FROM things WHERE ${condition} ORDER BY ${sorted.join(", ")}`,
    );
    const list = `orderBy=${orderBy}&filter=${filter}&limit=${2 + (index * 3) % 5}`;
    const walked: unknown[] = [];
    for (let page = await get(list);; page = await get(`${list}&cursor=${page.nextCursor}`)) {
      walked.push(...page.items.map(({ id }: { readonly id: number }) => id));
      if (page.nextCursor === null) break;
    }
    assertEquals(walked, rows.map(([id]) => Number(id)), list);
  }
  await app.close();
}

/** Every order of one key and of two, and some of three. */
function orders(): readonly (readonly (readonly [name: string, isDown: boolean])[])[] {
  const keys = ["a", "b", "code", "name", "state"].flatMap((name) =>
    [false, true].map((isDown) => [name, isDown] as const)
  );
  const pairs = keys.flatMap((one) =>
    keys.filter((other) => other[0] !== one[0]).map((other) => [one, other] as const)
  );
  const last = ["id", true] as const;
  return [
    ...keys.map((key) => [key]),
    ...keys.map((key) => [key, last]),
    ...pairs.filter((_pair, index) => index % 4 === 1),
    ...pairs.filter((_pair, index) => index % 16 === 0).map((pair, index) => [
      ...pair,
      ...keys.filter(([name]) => pair.every(([other]) => other !== name)).slice(
        index % 4,
        index % 4 + 1,
      ),
    ]),
  ];
}
