import { assertEquals } from "@std/assert";
import { z } from "zod";
import { all, procedure, resource } from "../../mod.ts";
import { albums, albumTags, artists, profiles, tags, withShop } from "../http/include_support.ts";
import { engines } from "../support/engines.ts";
import { insertRows, testOnEveryEngine, withService } from "../support/http.ts";
import { testUnless } from "../support/skip.ts";
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

const postgres = engines.find(({ name }) => name === "postgres");
if (postgres === undefined) throw new Error("There is a Postgres");

testUnless(
  postgres.ignore ?? null,
  "a row that raw SQL adds while the rows of a changed artist are read is no change (postgres)",
  async () => {
    const locked = Promise.withResolvers<void>();
    const addWhileSearched = procedure({
      input: z.object({}),
      output: z.null(),
      handler: async ({ db }) => {
        await db.transaction(async (tx) => {
          const run = (text: string) => tx.query({ text, values: [] });
          await run("LOCK TABLE albums");
          locked.resolve();
          const waiting =
            `SELECT FROM pg_locks WHERE NOT granted AND relation = 'albums'::regclass`;
          while ((await run(waiting)).rows.length === 0);
          await run(`INSERT INTO albums (id, title, artist_id, secret) VALUES (2, 'b', 1, '')`);
        });
        return null;
      },
    });
    const auth = { public: { read: true, subscribe: true }, update: () => all() };
    const resources = [
      resource(artists, { id: artists.id, auth, procedures: { addWhileSearched } }),
      resource(albums, {
        id: albums.id,
        auth,
        relations: {
          artist: { type: "belongsTo", resource: artists, foreignKey: albums.artistId },
        },
      }),
    ];
    const config = { changes: { mode: "service" as const }, resources };
    await withService(
      postgres,
      [artists, albums],
      () => config,
      async ({ db, send, subscribe }) => {
        await insertRows(db, artists, [{ id: 1, name: "ada", secret: "" }]);
        await insertRows(db, albums, [{ id: 1, title: "a", artistId: 1, secret: "" }]);
        const stream = await subscribe("/api/albums/subscribe?include=artist");
        await stream.untilSynced();
        await stream.untilToken();
        const ada = { "x-user": "ada" };
        const added = send("POST", "/api/artists/rpc/addWhileSearched", {}, ada);
        await Promise.race([locked.promise, added]);
        assertEquals((await send("PATCH", "/api/artists/1", { name: "eve" }, ada)).status, 200);
        assertEquals((await added).status, 200);
        const [first] = await stream.take(1);
        assertEquals([first?.type, first?.data.reason], ["invalidate", "untracked_write"]);
        const [page] = await stream.untilSynced();
        assertEquals(page?.data.items.map(({ id }: { readonly id: number }) => id), [1, 2]);
        await stream.close();
      },
    );
  },
);
