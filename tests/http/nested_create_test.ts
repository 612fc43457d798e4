import { assertEquals, assertMatch } from "@std/assert";
import { hiddenMark, insertRows, testOnEngines, testOnEveryEngine } from "../support/http.ts";
import { ada, counts, prizes, tags, withMusic } from "./nested_support.ts";

testOnEveryEngine(
  "a nested create writes all four kinds of relations and answers with the rows, masked",
  (engine) =>
    withMusic(engine, {}, async ({ db, get, send }) => {
      await insertRows(
        db,
        tags,
        [{ id: 70, name: "jazz", secret: `${hiddenMark}jazz` }],
      );
      await insertRows(db, prizes, [{ id: 7, name: "Polar" }]);
      const { status, headers, body } = await send("POST", "/api/artists", {
        name: "Nina",
        label: { name: "Bethlehem" },
        profile: { text: "piano" },
        albums: [
          {
            title: "Little Girl Blue",
            tracks: [{ title: "Mood Indigo", seconds: 240 }, { title: "Plain Gold Ring" }],
          },
          { title: "Pastel Blues", tracks: [] },
        ],
        tags: [{ name: "soul" }, { id: 70 }],
        prizes: [{ id: 7 }, { name: "Grammy" }],
      }, ada);
      assertEquals(status, 201, JSON.stringify(body));
      const { id, labelId } = body;
      assertEquals(headers.get("location"), `/api/artists/${id}`);
      const [first, second] = body.albums;
      assertMatch(first.id, /^[0-9a-f-]{36}$/);
      const [soul] = body.tags;
      const [, grammy] = body.prizes;
      const [mood, ring] = first.tracks;
      assertEquals(body, {
        id,
        labelId,
        name: "Nina",
        shout: "Nina!",
        label: { id: labelId, name: "Bethlehem" },
        profile: { artistId: id, text: "piano" },
        albums: [
          {
            id: first.id,
            artistId: id,
            ownerId: "ada",
            title: "Little Girl Blue",
            short: "Lit",
            tracks: [
              { id: mood.id, albumId: first.id, title: "Mood Indigo", seconds: 240 },
              { id: ring.id, albumId: first.id, title: "Plain Gold Ring", seconds: null },
            ],
          },
          {
            id: second.id,
            artistId: id,
            ownerId: "ada",
            title: "Pastel Blues",
            short: "Pas",
            tracks: [],
          },
        ],
        tags: [{ id: soul.id, name: "soul" }, { id: 70, name: "jazz" }],
        prizes: [{ id: 7, name: "Polar" }, { id: grammy.id, name: "Grammy" }],
      });
      const awarded = (await get("/api/awards?orderBy=prizeId")).body.items;
      assertEquals(
        awarded.map((award: Record<string, unknown>) => [award.artistId, award.grantedBy]),
        [[id, "ada"], [id, "ada"]],
      );
      assertEquals((await get("/api/tracks/count")).body, { count: 2 });
      assertEquals((await get(`/api/albums?filter=artistId==${id}`)).body.items.length, 2);
      assertEquals(await counts(db), {
        labels: 1,
        artists: 1,
        profiles: 1,
        albums: 2,
        tracks: 2,
        tags: 2,
        artist_tags: 2,
        prizes: 2,
        awards: 2,
      });
    }),
);

testOnEngines(
  "rows of one relation share a statement, whatever rows they are embedded in",
  (engine) =>
    withMusic(engine, {}, async ({ send }, statements) => {
      const nested = (count: number) =>
        Array.from({ length: count }, (_, artist) => ({
          name: `a${artist}`,
          albums: Array.from({ length: count }, (_, album) => ({
            title: `b${album}`,
            tracks: [{ title: `${count} ${artist} ${album}` }, {
              title: `${count} ${artist} ${album} b`,
            }],
          })),
          tags: [{ name: "t" }],
        }));
      const run = async (count: number) => {
        statements.length = 0;
        const answer = await send("POST", "/api/artists/batch", { items: nested(count) }, ada);
        assertEquals(answer.status, 201, JSON.stringify(answer.body));
        const calls = answer.body.items.map((artist: Named) => [
          artist.name,
          artist.albums.map(({ title, tracks }) => [title, tracks.map((track) => track.title)]),
        ]);
        assertEquals(
          calls,
          nested(count).map(({ name, albums }) => [
            name,
            albums.map(({ title, tracks }) => [title, tracks.map((track) => track.title)]),
          ]),
        );
        return statements.length;
      };
      // Artists, albums with the check of their scope, tracks, tags, links.
      assertEquals([await run(2), await run(5)], [6, 6]);
    }),
);

interface Named {
  readonly name: string;
  readonly albums: readonly {
    readonly title: string;
    readonly tracks: readonly { readonly title: string }[];
  }[];
}

testOnEngines(
  "a batch create names the item and the path of every fault",
  (engine) =>
    withMusic(engine, {}, async ({ db, send }) => {
      const create = async (...albums: readonly unknown[]) => {
        const items = [{ name: "fine" }, { name: "odd", albums }];
        const { status, body } = await send("POST", "/api/artists/batch", { items }, ada);
        return [status, body.details];
      };
      assertEquals(await create({ title: 1 }), [422, {
        index: 1,
        path: "items.1.albums.0",
        errors: [{ path: "items.1.albums.0.title", message: "must be a string" }],
      }]);
      const track = { title: "same" };
      assertEquals(await create({ title: "a", tracks: [track] }, { title: "b", tracks: [track] }), [
        409,
        {
          index: 1,
          path: "items.1.albums.1.tracks.0",
          errors: [{
            path: "items.1.albums.1.tracks.0.title",
            message: "is taken by another row",
          }],
        },
      ]);
      assertEquals(await counts(db), {});
    }),
);

testOnEveryEngine(
  "twenty nested creates at once all succeed, and link the same row",
  (engine) =>
    withMusic(engine, {}, async ({ db, send }) => {
      await insertRows(db, tags, [{ id: 700, name: "jazz", secret: "s" }]);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          send("POST", "/api/artists", {
            name: `a${n}`,
            label: { name: `l${n}` },
            albums: [{ title: `b${n}`, tracks: [{ title: `t${n}` }, { title: `u${n}` }] }],
            tags: [{ id: 700 }, { name: "new" }],
          }, ada)),
      );
      assertEquals(answers.map(({ status }) => status), Array(20).fill(201));
      for (const { body } of answers) {
        assertEquals(body.albums[0].artistId, body.id);
        assertEquals(body.albums[0].tracks[1].albumId, body.albums[0].id);
        assertEquals(body.label.name.slice(1), body.name.slice(1));
      }
      assertEquals(await counts(db), {
        labels: 20,
        artists: 20,
        albums: 20,
        tracks: 40,
        tags: 21,
        artist_tags: 40,
      });
    }),
);
