import { assertEquals, assertMatch } from "@std/assert";
import { eq, integer, none, resource, table, text } from "../../mod.ts";
import {
  hiddenMark,
  insertRows,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";
import {
  albums,
  albumTags,
  artists,
  profiles,
  type ShopScopes,
  tags,
  watchStatements,
  withShop,
} from "./include_support.ts";

const user = { "x-user": "ada" };

testOnEveryEngine(
  "include loads all four kinds of relations; a missing one is null or empty",
  (engine) =>
    withShop(engine, {}, async ({ get }) => {
      const { status, body } = await get(
        "/api/albums?include=artist,tags(orderBy:-id),tracks&select=title&orderBy=id",
      );
      assertEquals(status, 200);
      const jazz = { id: "jazz", label: "loud", length: 4 };
      const quoted = { id: "it's", label: "quoted", length: 6 };
      const artist = { id: 1, name: "ada", shout: "ADA" };
      assertEquals(body.items, [
        { title: "c", length: 1, artist, tags: [jazz, quoted], tracks: [] },
        {
          title: "a",
          length: 1,
          artist,
          tags: [],
          tracks: [{ id: 1, name: "one", albumId: 2 }, { id: 2, name: "two", albumId: 2 }],
        },
        { title: "b", length: 1, artist, tags: [], tracks: [{ id: 3, name: "three", albumId: 3 }] },
        {
          title: "d",
          length: 1,
          artist: { id: 2, name: "bob", shout: "BOB" },
          tags: [],
          tracks: [],
        },
        { title: "e", length: 1, artist: null, tags: [], tracks: [] },
        { title: "f", length: 1, artist: null, tags: [], tracks: [] },
      ]);
      const profiles = await get("/api/artists?include=profile(select:bio)&select=id");
      assertEquals(profiles.body.items, [
        { id: 1, shout: "ADA", profile: { bio: "first", length: 5 } },
        { id: 2, shout: "BOB", profile: { bio: "other", length: 5 } },
        { id: 3, shout: "CYD", profile: null },
      ]);
    }),
);

testOnEngines(
  "include takes options, nests, and orders with nulls last and ties by key",
  (engine) =>
    withShop(engine, {}, async ({ get }) => {
      const titles = async (options: string) =>
        (await get(`/api/artists/1?include=albums(${options})`)).body.albums
          .map(({ title }: { title: string }) => title);
      assertEquals(await titles("limit:2;orderBy:title:asc"), ["a", "b"]);
      assertEquals(await titles("orderBy:rating"), ["b", "c", "a"]);
      assertEquals(await titles("orderBy:-rating;limit:1000000"), ["c", "b", "a"]);
      assertEquals(await titles("limit:1"), ["c"]);
      assertEquals(await titles("filter:rating>4,title==a;orderBy:-title"), ["c", "a"]);
      assertEquals(await titles("filter:title!=c;rating==4"), ["b"]);
      assertEquals(await titles("filter:tracks.name==three"), ["b"]);
      assertEquals(await titles("filter:(title=='limit:1;)');limit:1"), []);
      assertEquals(await titles("filter:;limit:1"), ["c"]);

      const nested = await get(
        "/api/artists?include=albums(limit:2;orderBy:title:asc;include:tracks(select:name))" +
          "&select=name&filter=id=in=(1,2)",
      );
      assertEquals(nested.body.items, [
        {
          name: "ada",
          shout: "ADA",
          albums: [
            {
              id: 2,
              title: "a",
              artistId: 1,
              rating: null,
              length: 1,
              tracks: [{ name: "one" }, { name: "two" }],
            },
            { id: 3, title: "b", artistId: 1, rating: 4, length: 1, tracks: [{ name: "three" }] },
          ],
        },
        {
          name: "bob",
          shout: "BOB",
          albums: [{ id: 5, title: "d", artistId: 2, rating: 3, length: 1, tracks: [] }],
        },
      ]);
      const short = await get("/api/tracks/1?include=album.artist,album.tracks&select=id");
      const long = await get("/api/tracks/1?include=album(include:artist,tracks)&select=id");
      assertEquals(short.body, long.body);
      assertEquals(short.body.album.artist.name, "ada");
      assertEquals(short.body.album.tracks.length, 2);
    }),
);

/** One row of each kind, and the rows that its relation shows without a scope and with one. */
const kinds: readonly {
  readonly kind: string;
  readonly path: string;
  readonly field: string;
  readonly all: unknown;
  readonly scopes: ShopScopes;
  readonly some: unknown;
  readonly closed: ShopScopes;
  readonly none: unknown;
}[] = [
  {
    kind: "belongsTo",
    path: "/api/albums/5?include=artist",
    field: "artist",
    all: { id: 2, name: "bob", shout: "BOB" },
    scopes: { artists: () => eq(artists.name, "ada") },
    some: null,
    closed: { artists: () => none() },
    none: null,
  },
  {
    kind: "hasOne",
    path: "/api/artists/1?include=profile",
    field: "profile",
    all: { id: 2, artistId: 1, bio: "first", length: 5 },
    scopes: { profiles: () => eq(profiles.bio, "second") },
    some: { id: 3, artistId: 1, bio: "second", length: 6 },
    closed: { profiles: null },
    none: null,
  },
  {
    kind: "hasMany",
    path: "/api/artists/1?include=albums(filter:title!=c)",
    field: "albums",
    all: [
      { id: 2, title: "a", artistId: 1, rating: null, length: 1 },
      { id: 3, title: "b", artistId: 1, rating: 4, length: 1 },
    ],
    scopes: { albums: () => eq(albums.rating, 4) },
    some: [{ id: 3, title: "b", artistId: 1, rating: 4, length: 1 }],
    closed: { albums: null },
    none: [],
  },
  {
    kind: "manyToMany",
    path: "/api/albums/1?include=tags",
    field: "tags",
    all: [{ id: "it's", label: "quoted", length: 6 }, { id: "jazz", label: "loud", length: 4 }],
    scopes: { tags: () => eq(tags.label, "loud") },
    some: [{ id: "jazz", label: "loud", length: 4 }],
    closed: { tags: () => none() },
    none: [],
  },
];

for (const { kind, path, field, all, scopes, some, closed, none } of kinds) {
  testOnEngines(
    `rows included by ${kind} obey scope, mask, computed fields and soft delete`,
    async (engine) => {
      for (const [given, expected] of [[{}, all], [scopes, some], [closed, none]] as const) {
        await withShop(engine, given, async ({ get }) => {
          const { status, body } = await get(path, user);
          assertEquals([status, body[field]], [200, expected]);
        });
      }
      // An anonymous caller has no right that a scope gives.
      await withShop(engine, scopes, async ({ get }) => {
        assertEquals((await get(path)).body[field], none);
      });
    },
  );
}

testOnEngines(
  "links that are marked deleted are not walked, from either end",
  (engine) =>
    withShop(engine, {}, async ({ get }) => {
      const { body } = await get("/api/tags/jazz?include=albums(select:id)");
      assertEquals(body.albums, [{ id: 1, length: 1 }]);
      assertEquals((await get("/api/albums/2?include=tags")).body.tags, []);
      assertEquals((await get("/api/albums?filter=tags.label==loud")).body.items.length, 1);
    }),
);

testOnEngines(
  "the options of an include reveal nothing about hidden fields",
  (engine) =>
    withShop(engine, {}, async ({ get }) => {
      const answers = await Promise.all(
        ["secret", "nothing", "constructor", "__proto__"].flatMap((name) => [
          get(`/api/albums/1?include=artist(filter:${name}=="xyz*")`),
          get(`/api/albums/1?include=artist(orderBy:${name})`),
          get(`/api/albums/1?include=artist(filter:albums.${name}==1)`),
          get(`/api/artists/1?include=albums(filter:artist.${name}==1)`),
          get(`/api/albums?filter=artist.${name}==1`),
        ]),
      );
      const facts = answers.map(({ status, body }) => [status, body.code, body.detail]);
      for (let at = 5; at < facts.length; at++) {
        const [status, code, detail] = facts[at] ?? [];
        const [, , same] = facts[at % 5] ?? [];
        assertEquals(status, 400);
        assertEquals(code, at % 5 === 1 ? "INVALID_PARAMETER" : "FILTER_PARSE_ERROR");
        assertEquals(
          detail.replace(/"[\w.]+"/, '""').replace(/at \d+/, "at"),
          same.replace(/"[\w.]+"/, '""').replace(/at \d+/, "at"),
        );
      }
      // Only filterable relations may be walked; any other is the same 400 as an unknown name.
      const closed = await get("/api/albums?filter=owner.name==ada");
      const absent = await get("/api/albums?filter=nobody.name==ada");
      const named = JSON.stringify(absent.body).replace("nobody.name", "owner.name");
      assertEquals(closed.body, JSON.parse(named));
      const select = async (name: string) => {
        const { status, body } = await get(`/api/albums/1?include=artist(select:${name},name)`);
        return [status, body.detail.replace(name, "")];
      };
      assertEquals(await select("secret"), await select("nothing"));
    }),
);

testOnEveryEngine(
  "a relation path filters by the related rows that the user may read",
  (engine) =>
    withShop(engine, { artists: () => eq(artists.name, "ada") }, async ({ get, send }) => {
      const count = async (filter: string, headers?: Record<string, string>) => {
        const { status, body } = await get(`/api/albums/count?filter=${filter}`, headers);
        return status === 200 ? body.count : body.code;
      };
      assertEquals(await count("artist.name==ada", user), 3);
      assertEquals(await count("artist.name==bob", user), 0, "outside the scope");
      assertEquals(await count("artist.name==ada,id==5", user), 4);
      assertEquals(await count("artist.name==ada"), 0, "no right");
      assertEquals(await count("artist.name==ada,id==5"), 1);
      assertEquals(await count("artist.name==ada;id==5"), 0);
      assertEquals(await count("tags.label==hard"), 0, "deleted");
      assertEquals(await count("tags.label=in=(loud,quoted)"), 1);
      assertEquals(await count("artist.albums.title==z", user), 0, "deleted");
      assertEquals(await count("artist.albums.title==a", user), 3);
      assertEquals(await count("artist.albums.artist.name==ada", user), 3);
      assertEquals(
        await count("artist.albums.artist.albums.title==a", user),
        "FILTER_PARSE_ERROR",
        "no more than three steps",
      );
      const listed = await get("/api/tracks?filter=album.artist.name==ada&select=id", user);
      assertEquals(listed.body.items, [{ id: 1 }, { id: 2 }, { id: 3 }]);
      const batch = await send("DELETE", "/api/tracks/batch", { filter: "album.title==a" }, user);
      assertEquals([batch.status, batch.body.code], [400, "FILTER_PARSE_ERROR"]);
    }),
);

testOnEngines(
  "with include the tag is sent and If-None-Match is ignored",
  (engine) =>
    withShop(engine, {}, async ({ get }) => {
      const { headers } = await get("/api/albums/1");
      const tag = headers.get("etag") ?? "";
      assertEquals((await get("/api/albums/1", { "if-none-match": tag })).status, 304);
      const included = await get("/api/albums/1?include=tracks", { "if-none-match": tag });
      assertEquals([included.status, included.headers.get("etag")], [200, tag]);
      assertEquals((await get("/api/albums/1?include=", { "if-none-match": tag })).status, 304);
    }),
);

testOnEngines("the number of statements does not grow with the rows", async (engine) => {
  await withShop(engine, {}, async ({ db, get }) => {
    const statements = watchStatements(db);
    const texts = () => statements.splice(0).map(({ text }) => text);
    const path = (limit: number) =>
      `/api/albums?include=artist.profile,tags,tracks(limit:3)&limit=${limit}`;
    await get(path(1));
    const few = texts();
    assertEquals((await get(path(2))).body.items.length, 2);
    const many = texts();
    assertEquals(few.length, 5);
    assertEquals(many.slice(1), few.slice(1), "each statement, word for word");
    await get("/api/albums/6?include=artist.profile");
    assertEquals(texts().length, 1, "a null key needs no query");
  });
});

testOnEngines(
  "a few rows that refer to one another in cycles do not become an answer of thousands",
  (engine) =>
    withShop(engine, {}, async ({ db, get }) => {
      const numbers = [...Array(22).keys()].map((index) => 100 + index);
      const secret = hiddenMark;
      await insertRows(db, albums, numbers.map((id) => ({ id, title: "t", secret })));
      await insertRows(
        db,
        tags,
        numbers.map((id) => ({ id: `${id}`, label: "l", secret, gone: false })),
      );
      await insertRows(
        db,
        albumTags,
        numbers.flatMap((albumId, row) =>
          numbers.map((tag, column) => {
            const id = 1_000 + 100 * row + column;
            return { id, albumId, tagId: `${tag}`, gone: false };
          })
        ),
      );
      const path = "/api/albums?select=id&limit=100&filter=id>=100&include=";
      // 22 · 19 tags, and 22 · 19 · 22 albums in them; each of these is read once for a tag.
      const most = await get(`${path}tags(limit:19;select:id;include:albums(select:id))`);
      assertEquals(most.status, 200);
      assertEquals(most.body.items[21].tags[18].albums.length, 22);
      const tooMany = await get(`${path}tags.albums`);
      assertEquals([tooMany.status, tooMany.body.code], [422, "QUERY_TOO_EXPENSIVE"]);
      assertEquals((await get(`${path}tags.albums.tags`)).status, 422);
    }),
);

testOnEngines(
  "include refuses what it cannot parse, with the position",
  (engine) =>
    withShop(engine, {}, async ({ get }) => {
      const refusal = async (include: string) => {
        const { status, body } = await get(`/api/albums/1?include=${encodeURIComponent(include)}`);
        return status === 400 ? `${body.code} ${body.detail}` : `${status}`;
      };
      assertMatch(await refusal("nothing"), /INVALID_PARAMETER .*"nothing".*no relation/);
      assertMatch(await refusal("Track"), /no relation of this name\. Did you mean "tracks"\?/);
      assertMatch(await refusal("constructor"), /no relation of this name$/);
      assertMatch(await refusal("tracks(offset:1)"), /at 7: expected one of select:/);
      assertMatch(await refusal("tracks(limit:0)"), /INVALID_PARAMETER .*limit/);
      assertMatch(await refusal("artist(limit:-1)"), /INVALID_PARAMETER .*limit/);
      assertMatch(await refusal("tracks(limit:1;limit:2)"), /limit occurs twice/);
      assertMatch(await refusal("tracks(orderBy:nothing)"), /not a sortable field/);
      assertMatch(
        await refusal("artist.albums(filter:title=~a)"),
        /FILTER_PARSE_ERROR In the filter of include artist\.albums: .* at 5/,
      );
      assertMatch(await refusal("artist.albums.artist.albums"), /at most 3 levels/);
      const { body } = await get("/api/albums/1?include=tracks(filter:name=='a)");
      assertEquals(body.code, "FILTER_PARSE_ERROR");
      assertEquals(body.details.position, 6);
      assertEquals(
        (await get("/api/albums/count?include=nothing")).status,
        200,
        "not its parameter",
      );
    }),
);

const trees = table("key", {
  key: integer().primaryKey(),
  value: integer(),
  id: text().notNull(),
  type: text(),
  path: integer(),
  parent: integer(),
  _ordinal: text().notNull(),
  _value: text(),
});

testOnEngines(
  "a table may relate to itself and be named like a part of the statement",
  (engine) =>
    withService(engine, [trees], () => ({
      resources: [
        resource(trees, {
          id: trees.key,
          auth: { read: () => eq(trees.type, "open") },
          relations: {
            up: { type: "belongsTo", resource: "key", foreignKey: trees.parent, filterable: true },
            down: { type: "hasMany", resource: trees, foreignKey: trees.parent, filterable: true },
          },
        }),
      ],
    }), async ({ db, get }) => {
      const node = (key: number, parent: number | null, type = "open") => ({
        ...{
          key,
          parent,
          type,
          value: 9 - key,
          id: `n${key}`,
          path: 7,
          _ordinal: "p",
          _value: "v",
        },
      });
      await insertRows(db, trees, [
        ...[node(1, null), node(2, 1), node(3, 1), node(4, 1, "shut"), node(5, 2), node(6, 6)],
      ]);
      const { body } = await get(
        "/api/key?select=id&include=up(select:id),down(select:key,_ordinal;orderBy:value;" +
          "filter:path==7;include:down(select:id))",
        user,
      );
      assertEquals(body.items, [
        {
          id: "n1",
          up: null,
          down: [{ key: 3, _ordinal: "p", down: [] }, {
            key: 2,
            _ordinal: "p",
            down: [{ id: "n5" }],
          }],
        },
        { id: "n2", up: { id: "n1" }, down: [{ key: 5, _ordinal: "p", down: [] }] },
        { id: "n3", up: { id: "n1" }, down: [] },
        { id: "n5", up: { id: "n2" }, down: [] },
        { id: "n6", up: { id: "n6" }, down: [{ key: 6, _ordinal: "p", down: [{ id: "n6" }] }] },
      ]);
      const keys = async (filter: string) =>
        (await get(`/api/key?select=key&filter=${filter}`, user)).body.items
          .map(({ key }: { key: number }) => key);
      assertEquals(await keys("up.up.id==n1"), [5]);
      assertEquals(await keys("down.down.value==4"), [1]);
      assertEquals(await keys("down.key==4"), [], "outside the scope");
    }),
);
