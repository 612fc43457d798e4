import { assert, assertEquals } from "@std/assert";
import { eq, integer, resource, table, text } from "../../mod.ts";
import type { Engine } from "../support/engines.ts";
import {
  insertRows,
  type Service,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";

const letters = table("letters", {
  tenant: text().primaryKey(),
  number: integer().primaryKey(),
  body: text(),
  topic: text().notNull(),
});
type Letter = typeof letters.$inferSelect;

/** 20 kB that compress badly, with ties and without a body. */
function letter(number: number): Letter {
  const long = Array.from({ length: 2_000 }, (_, at) => (at * 7919 + number % 5) % 9973).join();
  const body = number % 7 === 0 ? null : `${number % 5}${long.repeat(3).slice(0, 20_000)}`;
  return { tenant: `t${number % 2}`, number, body, topic: number % 2 === 0 ? "even" : "odd" };
}

function withLetters(engine: Engine, work: (service: Service) => Promise<void>): Promise<void> {
  return withService(engine, [letters], () => ({
    resources: [
      resource(letters, {
        id: [letters.tenant, letters.number],
        auth: {
          read: (user) => eq(letters.tenant, user.id),
          update: (user) => eq(letters.tenant, user.id),
        },
        capabilities: { enableExport: true },
      }),
    ],
  }), async (service) => {
    await insertRows(service.db, letters, Array.from({ length: 24 }, (_, index) => letter(index)));
    await work(service);
  });
}

const even = { "x-user": "t0" };
const odd = { "x-user": "t1" };

async function pages(
  { get }: Service,
  query: string,
): Promise<{ readonly numbers: number[]; readonly cursors: string[] }> {
  const numbers: number[] = [];
  const cursors: string[] = [];
  let cursor = "";
  do {
    const { status, body } = await get(`/api/letters?${query}&cursor=${cursor}`, even);
    assertEquals(status, 200, body.detail);
    numbers.push(...body.items.map((item: Letter) => item.number));
    cursor = body.nextCursor ?? "";
    if (cursor !== "") cursors.push(cursor);
  } while (cursor !== "");
  return { numbers, cursors };
}

testOnEveryEngine(
  "the cursor of a list ordered by texts of 20 kB was refused",
  (engine) =>
    withLetters(engine, async (service) => {
      for (const orderBy of ["body", "-body", "topic,-body,-number", "-body,number:desc"]) {
        const { numbers, cursors } = await pages(
          service,
          `limit=1&select=number&orderBy=${orderBy}`,
        );
        const all = await service.get(`/api/letters?limit=100&orderBy=${orderBy}`, even);
        assertEquals(numbers, all.body.items.map((item: Letter) => item.number), orderBy);
        assertEquals(numbers.length, 12);
        for (const cursor of cursors) assert(cursor.length < 4_096, `${cursor.length} characters`);
      }
    }),
);

testOnEngines(
  "a long position is that of a row as it was: changed or gone, it is refused",
  (engine) =>
    withLetters(engine, async ({ get, send, db }) => {
      const list = "/api/letters?orderBy=body&select=number";
      const first = await get(`${list}&limit=1`, even);
      const [{ number }] = first.body.items;
      const next = `${list}&cursor=${first.body.nextCursor}`;
      const id = `t0,${number}`;
      assertEquals((await get(next, even)).body.items.length, 11);
      assertEquals(
        (await send("PATCH", `/api/letters/${id}`, { topic: "other" }, even)).status,
        200,
      );
      assertEquals((await get(next, even)).status, 200, "its place is the same");
      const { body: changed } = letter(number + 2);
      await send("PATCH", `/api/letters/${id}`, { body: changed }, even);
      const refused = await get(next, even);
      assertEquals([refused.status, refused.body.code], [400, "CURSOR_INVALID"]);
      await send("PATCH", `/api/letters/${id}`, { body: letter(number).body }, even);
      assertEquals((await get(next, even)).status, 200);
      await db.driver.query({ text: `DELETE FROM letters WHERE number = ${number}`, values: [] });
      assertEquals((await get(next, even)).body.detail, refused.body.detail);
      const exported = await get(next, { ...even, accept: "text/csv" });
      assertEquals(exported.body.detail, refused.body.detail);
    }),
);

testOnEngines(
  "to a user who may not see its row, a long position is gone",
  (engine) =>
    withLetters(engine, async ({ get }) => {
      const list = "/api/letters?orderBy=body";
      const { body: { nextCursor } } = await get(`${list}&limit=1`, even);
      const other = await get(`${list}&cursor=${nextCursor}`, odd);
      assertEquals([other.status, other.body.code], [400, "CURSOR_INVALID"]);
      assertEquals((await get(`${list}&cursor=${nextCursor}`, even)).status, 200);
    }),
);

testOnEngines(
  "an export continues after a long position as a list does",
  (engine) =>
    withLetters(engine, async ({ get }) => {
      const list = "/api/letters?orderBy=body&select=number";
      const { body: { items, nextCursor } } = await get(`${list}&limit=5`, even);
      const rest = await get(`${list}&cursor=${nextCursor}`, { ...even, accept: "text/csv" });
      const [, ...lines] = rest.body.trim().split("\r\n");
      assertEquals([rest.status, lines.length], [200, 7]);
      for (const { number } of items) assert(!lines.includes(String(number)));
    }),
);

testOnEngines(
  "a row whose id no cursor can hold is a refusal, not a cursor that is refused",
  (engine) =>
    withService(engine, [letters], () => ({
      resources: [
        resource(letters, { id: [letters.tenant, letters.number], auth: { public: true } }),
      ],
    }), async ({ get, db }) => {
      // Postgres has no longer keys than its pages hold, compressed.
      const tenant = "x".repeat(13_000);
      await insertRows(db, letters, [1, 2].map((number) => ({ ...letter(number), tenant })));
      const page = await get("/api/letters?limit=1");
      assertEquals([page.status, page.body.code], [422, "QUERY_TOO_EXPENSIVE"]);
      assertEquals((await get("/api/letters?limit=2")).status, 200);
    }),
);
