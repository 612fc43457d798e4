import { assertEquals } from "@std/assert";
import { alteredDatabases, serveAltered } from "../support/altered_database.ts";
import { testUnless } from "../support/skip.ts";

/** Columns of types of which JSON does not have all values, and values. */
const added = {
  numbers: { type: "int[]", value: "'[0:1]={5,6}'" },
  documents: { type: "json[]", value: `ARRAY['{"a":1}'::json, 'null', NULL]` },
  pair: { type: "pair", value: "ROW('null', '[0:0]={1}')" },
};

const list = (of: (name: string, column: { type: string; value: string }) => string) =>
  Object.entries(added).map(([name, column]) => of(name, column)).join(", ");

for (const { name, open, missing } of alteredDatabases.filter(({ name }) => name === "postgres")) {
  for (const options of [["--write", "--triggers"], ["--write"]]) {
    testUnless(
      missing,
      `${name} ${
        options.join(" ")
      }: streams have the tags of reads after arrays and composites are added`,
      async () => {
        await using db = await open();
        await db.run(
          "CREATE TYPE pair AS (j json, l int[])",
          "CREATE TABLE notes (id integer PRIMARY KEY, n integer)",
          "INSERT INTO notes VALUES (1, 1)",
        );
        await using served = await serveAltered(db.place, ...options);
        const write = async (n: number) => {
          if (options.includes("--triggers")) return await db.run(`UPDATE notes SET n = ${n}`);
          // Requests have 503 while the tables are read again.
          const [status] = await served.ask("PATCH", "notes/1", { n });
          if (status !== 200) assertEquals(status, 503);
        };
        const stream = await served.follow("notes/subscribe");
        await stream.untilSynced();
        const token = await stream.untilToken();
        await db.run(`ALTER TABLE notes ${list((name, { type }) => `ADD COLUMN ${name} ${type}`)}`);
        await db.run(`UPDATE notes SET ${list((name, { value }) => `${name} = ${value}`)}`);
        const read = async () => {
          const response = await served.send("api/notes/1");
          const row = await response.json();
          return { ...row, _etag: response.headers.get("etag") };
        };
        await write(2);
        // The service does not know the columns yet.
        let seen = (await stream.next())?.data.item;
        while (seen?.n !== 2) seen = (await stream.next())?.data.item;
        assertEquals(seen, await read());
        let n = 2;
        let isWriting = true;
        const writing = (async () => {
          while (isWriting) await write(++n);
        })();
        assertEquals((await served.ask("GET", "notes?filter=numbers=isnull=true"))[0], 200);
        const resumed = await served.follow("notes/subscribe", token);
        assertEquals((await resumed.next())?.data.reason, "schema_changed");
        const [page] = await resumed.untilSynced();
        const items = [page?.data.items[0]];
        const take = async () => {
          const event = await resumed.next();
          if (event?.type === "existing") items.push(event.data.items[0]);
          else if (event?.type !== "invalidate") items.push(event?.data.item);
          // The UPDATE above has no change in the log without triggers, and may be noticed late.
          else assertEquals(event.data.reason, "untracked_write");
        };
        while (items.length < 20) await take();
        isWriting = false;
        await writing;
        while (items.at(-1).n !== n) await take();
        const last = await read();
        assertEquals(Object.keys(last), ["id", "n", ...Object.keys(added), "_etag"]);
        assertEquals(items.at(-1), last);
        for (const item of items) {
          assertEquals({ ...last, n: item.n, _etag: item._etag }, item);
        }
        await resumed.close();
      },
    );
  }
}
