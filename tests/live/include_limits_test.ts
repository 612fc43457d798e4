import { assert, assertEquals } from "@std/assert";
import { albums, artists, watchStatements, withShop } from "../http/include_support.ts";
import type { Row } from "../../src/schema/table_info.ts";
import { engines } from "../support/engines.ts";
import { insertRows, testOnEngines } from "../support/http.ts";
import { testUnless } from "../support/skip.ts";
import { catchUp, follow, held, insertRow, listed, updateRow } from "./include_streams.ts";

const [sqlite] = engines;
const postgres = engines.find(({ name }) => name === "postgres");
if (sqlite === undefined || postgres === undefined) throw new Error("There are engines");

const isLive = true;
const range = (count: number) => Array.from({ length: count }, (_, index) => 1_001 + index);

Deno.test("what cannot be included is refused before the stream opens", () =>
  withShop(sqlite, { isLive }, async ({ get, app }) => {
    const answer = async (include: string) =>
      await get(`/api/artists/subscribe?include=${include}`);
    const status = async (include: string) => (await answer(include)).status;
    assertEquals(await status("nothing"), 400);
    assertEquals(await status("albums(nothing:1)"), 400);
    assertEquals(await status("albums(filter:secret==1)"), 400);
    assertEquals(await status("albums.tracks.album.artist"), 400);
    const { status: code, body } = await answer("albums.tags.albums");
    assertEquals([code, body.code, body.details], [422, "QUERY_TOO_EXPENSIVE", { limit: 100_000 }]);
    const head = async (include: string) => {
      const url = `http://test/api/artists/subscribe?include=${include}`;
      const response = await app.fetch(new Request(url, { method: "HEAD" }));
      return [response.status, await response.text()];
    };
    assertEquals(await head("albums.tracks"), [200, ""]);
    assertEquals((await head("nothing"))[0], 400);
  }));

testOnEngines(
  "a change under more than 500 rows starts over the streams that include it, and no others",
  (engine) =>
    withShop(engine, { isLive }, async (service) => {
      const { db } = service;
      await db.driver.transaction(async (connection) => {
        for (const id of range(501)) {
          await insertRow(connection, db, albums, { id, title: "m", artistId: 3, secret: "xyzzy" });
        }
      });
      const followers = [
        await follow(service, "albums", "include=artist", "ada"),
        await follow(service, "albums", "include=tags&filter=id%3E1000", "ada"),
        await follow(service, "albums", "", "ada"),
      ];
      const sent = async () => {
        const lines = [];
        for (const follower of followers) {
          lines.push(await catchUp(follower, service));
          assertEquals(held(follower), await listed(follower, service));
        }
        return lines;
      };
      await sent();
      const rename = (name: string) => updateRow(db.driver, db, artists, 3, { name });
      await rename("dee");
      assertEquals(await sent(), [
        ["invalidate relation_overflow", "existing", "existing"],
        [],
        [],
      ]);
      await updateRow(db.driver, db, albums, 1_001, { artistId: null });
      assertEquals(await sent(), [["changed 1001"], ["changed 1001"], ["changed 1001"]]);
      await rename("eve");
      const [lines = [], ...others] = await sent();
      assertEquals([lines.length, new Set(lines).size, others], [500, 500, [[], []]]);
      for (const { stream } of followers) await stream.close();
    }),
);

testOnEngines(
  "rows that include a changed one were read whole, however large they were",
  (engine) =>
    withShop(engine, { isLive }, async (service) => {
      const { db } = service;
      const secret = `xyzzy-${"s".repeat(100_000)}`;
      const rows = range(100).map((id) => ({ id, title: "m", artistId: 3, secret }));
      await insertRows(db, albums, rows.slice(0, 50));
      const one = await follow(service, "albums", "include=artist", "ada");
      const other = await follow(service, "albums", "", "ada");
      await catchUp(one, service);
      await catchUp(other, service);
      const rename = async (name: string) => {
        await updateRow(db.driver, db, artists, 3, { name });
        const lines = [await catchUp(one, service), await catchUp(other, service)];
        assertEquals(held(one), await listed(one, service));
        return lines;
      };
      const [few, none] = await rename("dee");
      assertEquals([few?.length, none], [50, []], "five megabytes are sent one by one");
      await insertRows(db, albums, rows.slice(50));
      await catchUp(one, service);
      await catchUp(other, service);
      const [many = [], ...others] = await rename("eve");
      assertEquals([many[0], new Set(many.slice(1)), others], [
        "invalidate relation_overflow",
        new Set(["existing"]),
        [[]],
      ]);
      for (const { stream } of [one, other]) await stream.close();
    }),
);

Deno.test("rows that include ten thousand others come in smaller pages, and all of them", () =>
  withShop(sqlite, { isLive }, async (service) => {
    const { db } = service;
    await insertRows(db, artists, range(150).map((id) => ({ id, name: "n", secret: "xyzzy" })));
    await db.driver.query({
      text: "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 12000) " +
        "INSERT INTO tracks (id, name, album_id) SELECT 1000 + n, 'n', 2001 + n % 150 FROM n",
      values: [],
    });
    await insertRows(
      db,
      albums,
      range(150).map((id) => ({ id: id + 1_000, title: "t", artistId: id, secret: "xyzzy" })),
    );
    const query = "include=albums(include:tracks)&filter=id%3E1000";
    const follower = await follow(service, "artists", query, "ada");
    const pages = await catchUp(follower, service);
    assertEquals(pages, ["existing", "existing"], "where 150 rows would be one page");
    const items: Row[] = [];
    for (let id = 1_001; id <= 1_150; id += 50) {
      const some = `include=albums(include:tracks)&filter=id%3E=${id};id%3C${id + 50}`;
      items.push(...await listed({ ...follower, query: some }, service));
    }
    assertEquals(held(follower), items);
    // So many at once are not sent one by one, and one is.
    await db.driver.query({ text: "UPDATE artists SET name = 'o' WHERE id > 1000", values: [] });
    const sent = await catchUp(follower, service);
    assertEquals(sent, ["invalidate relation_overflow", ...pages]);
    await updateRow(db.driver, db, artists, 1_001, { name: "p" });
    assertEquals(await catchUp(follower, service), ["changed 1001"]);
    await follower.stream.close();
  }));

testOnEngines(
  "a step costs as many statements for one row and subscriber as for many",
  (engine) =>
    withShop(engine, { isLive }, async (service) => {
      const { db } = service;
      await insertRows(
        db,
        albums,
        range(50).map((id) => ({ id, title: "t", artistId: 1, secret: "xyzzy" })),
      );
      const query = "include=artist,tracks,tags";
      const open = async (user: string) => {
        const { stream } = await follow(service, "albums", `${query}&filter=title!=${user}`, user);
        await stream.untilSynced();
        await stream.untilToken();
        return stream;
      };
      const streams = [await open("ada")];
      const requested = watchStatements(db);
      const cost = async (artist: number, events: number) => {
        requested.length = 0;
        await updateRow(db.driver, db, artists, artist, { name: "new" });
        for (const stream of streams) {
          await stream.take(events);
          await stream.untilToken();
        }
        return requested.filter(({ text }) => /_list/.test(text)).length;
      };
      const costs = [await cost(2, 1), await cost(1, 53)];
      for (const user of ["bob", "cyd", "dee", "eve", "may", "joe", "sue"]) {
        streams.push(await open(user));
      }
      costs.push(await cost(2, 1), await cost(1, 53));
      assertEquals(costs, [4, 4, 4, 4], "one step up, and one statement for each relation");
      for (const stream of streams) await stream.close();
    }),
);

testUnless(
  postgres.ignore ?? null,
  "a change that began before one of its parent, and is committed after it, is sent",
  () =>
    withShop(postgres, { isLive }, async (service) => {
      const { db } = service;
      const follower = await follow(service, "artists", "include=albums", "ada");
      await catchUp(follower, service);
      const written = Promise.withResolvers<void>();
      const mayEnd = Promise.withResolvers<void>();
      const below = db.driver.transaction(async (connection) => {
        await updateRow(connection, db, albums, 1, { title: "below" });
        written.resolve();
        await mayEnd.promise;
      });
      await written.promise;
      await updateRow(db.driver, db, artists, 1, { name: "above" });
      const [above] = await follower.stream.take(1);
      mayEnd.resolve();
      await below;
      const [after] = await follower.stream.take(1);
      const titles = after?.data.item.albums.map(({ title }: { title: string }) => title);
      assertEquals([after?.data.item.name, titles[0]], ["above", "below"]);
      assert(after?.data.seq > above?.data.seq, "an event of a lower number is one of before");
      await follower.stream.close();
    }),
);

testUnless(
  postgres.ignore ?? null,
  "a step that comes in parts, or without its rows, starts over the streams that include them",
  () =>
    withShop(postgres, { isLive }, async (service) => {
      const { db } = service;
      const followers = [
        await follow(service, "albums", "include=tracks", "ada"),
        await follow(service, "albums", "include=artist", "ada"),
      ];
      for (const follower of followers) await catchUp(follower, service);
      const parts = "INSERT INTO tracks (id, name, album_id) " +
        "SELECT 1000 + n, 'n', 1 + n % 7 FROM generate_series(1, 2500) AS n";
      for (const text of [parts, "TRUNCATE tracks"]) {
        await db.driver.query({ text, values: [] });
        const sent = [];
        for (const follower of followers) {
          sent.push(await catchUp(follower, service));
          assertEquals(held(follower), await listed(follower, service));
        }
        assertEquals(sent, [["invalidate relation_overflow", "existing"], []]);
      }
      for (const { stream } of followers) await stream.close();
    }),
);
