import { assertEquals } from "@std/assert";
import type { ChangeLog } from "../../src/db/changes/change_log.ts";
import { gt } from "../../src/filter/builders.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { testOnDialects } from "../support/http.ts";
import { Client, close, readAll, spied, type TestHub, untilIdle, withHub } from "./hub_support.ts";

const rows = table("rows", { id: integer().primaryKey(), rank: integer(), title: text() });

/** Every way in which a row can meet the frontier of a snapshot whose pages hold three rows. */
const writes: readonly string[] = [
  "UPDATE rows SET title = title || '!' WHERE id = 1",
  "UPDATE rows SET title = title || '!' WHERE id = 5",
  "UPDATE rows SET title = title || '!' WHERE id = 11",
  "DELETE FROM rows WHERE id = 2",
  "DELETE FROM rows WHERE id = 8",
  "INSERT INTO rows (id, rank, title) VALUES (0, 5, 'new at the front')",
  "INSERT INTO rows (id, rank, title) VALUES (99, 5, 'new at the end')",
  "UPDATE rows SET rank = 0 WHERE id = 3",
  "UPDATE rows SET rank = 0 WHERE id = 9",
  "UPDATE rows SET rank = 5 WHERE id IN (4, 10)",
  "UPDATE rows SET id = 50 WHERE id = 1",
  "UPDATE rows SET id = -1 WHERE id = 12",
  "UPDATE rows SET title = 'all'",
];

testOnDialects(
  "a row that changes at any moment of a snapshot is sent once and right",
  async (engine) => {
    let onMoment = () => Promise.resolve();
    const wrap = (log: ChangeLog) => spied(log, () => onMoment());
    await withHub(engine, rows, { limits: { maxRowsPerPage: 3 }, wrap }, async (test) => {
      for (const write of writes) {
        let moments = 0;
        for (let when = 0; when === 0 || when < moments; when++) {
          onMoment = () => Promise.resolve();
          await fill(test);
          // Pages that were read before this are not shared any more.
          await test.advance(3_000);
          moments = 0;
          onMoment = async () => {
            if (moments++ === when) await test.sql(write);
          };
          await requireSameAsStored(test, () => onMoment = () => Promise.resolve());
        }
        assertEquals(moments >= 8, true, `${moments} moments: before and after each of four pages`);
      }
    });
  },
);

testOnDialects(
  "an aggregate that is read while rows change counts each change once",
  async (engine) => {
    let onMoment = () => Promise.resolve();
    const wrap = (log: ChangeLog) => spied(log, () => onMoment());
    await withHub(engine, rows, { wrap }, async (test) => {
      for (const write of writes) {
        let moments = 0;
        for (let when = 0; when === 0 || when < moments; when++) {
          onMoment = () => Promise.resolve();
          await fill(test);
          moments = 0;
          onMoment = async () => {
            if (moments++ === when) await test.sql(write);
          };
          const filter = gt(rows.rank, 0);
          const question = "groupBy=title&count=true&sum=rank&avg=id";
          const stream = await test.aggregate(question, { filter });
          const client = readAll(stream, ({ data }) => JSON.stringify(data));
          while (client.sent.length === 0) await untilIdle();
          onMoment = () => Promise.resolve();
          // Another aggregate, so that it is read from the database and not shared.
          const other = await test.aggregate(`${question}&limit=999`, { filter });
          const expected = JSON.stringify((await other.take(1))[0]?.data);
          // A change arrives in its own time where the database notifies of it.
          for (let look = 0; look < 100; look++) {
            if (client.sent.at(-1) === expected) break;
            await test.advance(100);
          }
          assertEquals(client.sent.at(-1), expected, `${write}, at moment ${when}`);
          await other.close();
          await close(client);
        }
        assertEquals(moments >= 4, true, `${moments} moments: around the reading and a look`);
      }
    });
  },
);

async function fill({ sql }: TestHub): Promise<void> {
  await sql("DELETE FROM rows");
  const values = Array.from(
    { length: 12 },
    (_, index) => `(${index + 1}, ${(index + 1) % 4}, 'row')`,
  );
  await sql(`INSERT INTO rows (id, rank, title) VALUES ${values.join()}`);
}

/** Follows the rows until all changes are sent, and compares what the client has with the table. */
async function requireSameAsStored(
  { subscribe, sql, db }: TestHub,
  onSynced: () => void,
): Promise<void> {
  const stream = await subscribe({ filter: gt(rows.rank, 0) });
  const client = new Client();
  const readOn = async () => (await stream.take(1)).forEach((event) => client.take(event));
  while (!client.isSynced) await readOn();
  onSynced();
  await sql("INSERT INTO rows (id, rank, title) VALUES (1000, 1, 'mark')");
  while (!client.rows.has(1000)) await readOn();
  const { rows: stored } = await db.driver.query({
    text: "SELECT id, rank, title FROM rows WHERE rank > 0 ORDER BY id",
    values: [],
  });
  const held = [...client.rows.values()].toSorted((left, right) =>
    Number(left["id"]) - Number(right["id"])
  );
  assertEquals(
    held.map(({ id, rank, title }) => [String(id), String(rank), title]),
    stored.map(([id, rank, title]) => [String(id), String(rank), title]),
  );
  assertEquals(client.faults, []);
  await stream.close();
}
