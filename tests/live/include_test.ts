import { assertEquals } from "@std/assert";
import { albums, albumTags, artists, profiles, tags, withShop } from "../http/include_support.ts";
import { insertRows, testOnEveryEngine } from "../support/http.ts";
import { catchUp, follow, held, listed, updateRow } from "./include_streams.ts";

const isLive = true;
const nested = "include=profile,albums(include:tracks,tags)";
const flat = "include=artist,tags(select:label),tracks(limit:1;orderBy:-id)";
const upwards = "include=album(include:artist)";

testOnEveryEngine(
  "a change of an included row is a change of its parent, and is sent for no other row",
  (engine) =>
    withShop(engine, { isLive }, async (service) => {
      const { db } = service;
      const followers = await Promise.all([
        follow(service, "artists", nested, "ada"),
        follow(service, "albums", flat, "ada"),
        follow(service, "tracks", upwards, "ada"),
      ]);
      const change = (...[table, id, values]: [Parameters<typeof updateRow>[2], unknown, object]) =>
        db.driver.transaction((connection) => updateRow(connection, db, table, id, { ...values }));
      const sent = async () => {
        const lines: (readonly string[])[] = [];
        for (const follower of followers) {
          lines.push(await catchUp(follower, service));
          assertEquals(held(follower), await listed(follower, service));
          assertEquals(follower.client.faults, []);
        }
        return lines;
      };
      assertEquals(await sent(), [["existing"], ["existing"], ["existing"]]);
      const sql = (text: string) => db.driver.query({ text, values: [] });

      // To one: every album of the artist, and all tracks of those.
      await change(artists, 2, { name: "eve" });
      assertEquals(await sent(), [["changed 2"], ["changed 5"], []]);
      await change(artists, 1, { name: "may" });
      assertEquals(await sent(), [["changed 1"], ["changed 1", "changed 2", "changed 3"], [
        "changed 1",
        "changed 2",
        "changed 3",
      ]]);

      // To many, two levels deep, and from one to another.
      await sql("UPDATE tracks SET name = 'new' WHERE id = 1");
      assertEquals(await sent(), [["changed 1"], ["changed 2"], ["changed 1"]]);
      await sql("UPDATE tracks SET album_id = 3 WHERE id = 1");
      assertEquals(await sent(), [["changed 1"], ["changed 2", "changed 3"], ["changed 1"]]);
      await change(albums, 3, { artistId: 2 });
      assertEquals(await sent(), [["changed 1", "changed 2"], ["changed 3"], [
        "changed 1",
        "changed 3",
      ]]);

      // By a link table: the links, and what they lead to. Most of it is not to be seen.
      await insertRows(db, albumTags, [{ id: 90, albumId: 2, tagId: "jazz", gone: false }]);
      assertEquals(await sent(), [["changed 1"], ["changed 2"], []]);
      await change(tags, "jazz", { label: "quiet" });
      assertEquals((await sent())[1], ["changed 1", "changed 2"]);
      await change(albumTags, 90, { gone: true });
      assertEquals(await sent(), [["changed 1"], ["changed 2"], []]);
      await change(albumTags, 90, { tagId: "none" });
      assertEquals(await sent(), [[], [], []]);

      // Soft delete and restore of what is included; a deleted row is no event.
      await change(profiles, 2, { gone: true });
      assertEquals(await sent(), [["changed 1"], [], []]);
      await change(profiles, 2, { bio: "unseen" });
      assertEquals(await sent(), [[], [], []]);
      await change(profiles, 2, { gone: false });
      assertEquals(await sent(), [["changed 1"], [], []]);

      // A write that is rolled back is not sent.
      await db.driver.transaction(async (connection) => {
        await updateRow(connection, db, artists, 1, { name: "undone" });
        throw new Error("undone");
      }).catch(() => {});
      assertEquals(await sent(), [[], [], []]);
      for (const { stream } of followers) await stream.close();
    }),
);
