import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  all,
  createApp,
  eq,
  type Hooks,
  inList,
  integer,
  ne,
  none,
  Problem,
  resource,
  type ResourceDefinition,
  table,
  text,
} from "../../mod.ts";
import { engines } from "../support/engines.ts";
import {
  hiddenMark,
  insertRows,
  type Service,
  testOnEngines,
  withService,
} from "../support/http.ts";
import {
  ada,
  artists,
  artistTags,
  type Changes,
  counts,
  tags,
  tracks,
  withMusic,
} from "./nested_support.ts";

const create = async ({ send }: Service, body: unknown, path = "/api/artists") => {
  const answer = await send("POST", path, body, ada);
  return [answer.status, answer.body.details];
};

const refused = async (service: Service, body: unknown) => {
  const { status, body: { details } } = await service.send("POST", "/api/artists", body, ada);
  return [
    status,
    ...details.errors.map((error: { path: string; message: string }) =>
      `${error.path} ${error.message}`
    ),
  ];
};

testOnEngines(
  "a grandchild that fails rolls everything back: a taken value, the scope, an after-hook",
  (engine) => {
    const calls: string[] = [];
    return withMusic(engine, {
      artists: {
        hooks: {
          onAfterCreate: async ({ db }, { id }) => {
            await db.query({
              text: `INSERT INTO tags (name, secret) VALUES ('a${id}', 'b')`,
              values: [],
            });
          },
        },
      },
      tracks: {
        auth: { create: () => ne(tracks.title, "banned") },
        hooks: {
          onAfterCreate: (_context, { title }) => {
            calls.push(title);
            if (title === "late") throw new Problem("conflict", "Cannot create: too late");
            if (title === "broken") throw new Error("a fault of ours");
          },
        },
      },
    }, async (service) => {
      const body = (title: string) => ({
        name: "a",
        label: { name: "l" },
        albums: [{ title: "b", tracks: [{ title: "x" }] }, { title: "c", tracks: [{ title }] }],
      });
      const path = "albums.1.tracks.0";
      assertEquals(await create(service, body("x")), [409, {
        path,
        errors: [{ path: `${path}.title`, message: "is taken by another row" }],
      }]);
      assertEquals(await create(service, body("banned")), [403, { path }]);
      assertEquals(calls, []);
      assertEquals(await create(service, body("late")), [409, { path }]);
      assertEquals(await create(service, body("broken")), [500, undefined]);
      assertEquals(calls, ["x", "late", "x", "broken"]);
      assertEquals(await counts(service.db), {});
      assertEquals((await create(service, body("fine")))[0], 201);
    });
  },
);

testOnEngines(
  "hooks run for every row, parents first: all before the transaction, then all inside",
  (engine) => {
    const calls: string[] = [];
    const hooks = <S, I>(): Hooks<S, I> => ({
      onBeforeCreate: ({ resource, user }, data) => {
        calls.push(`${resource.name} ${user?.id} ${JSON.stringify(data)}`);
      },
      onAfterCreate: ({ resource }) => void calls.push(resource.name),
    });
    return withMusic(engine, {
      artists: { hooks: hooks() },
      albums: { hooks: hooks() },
      tracks: {
        hooks: {
          ...hooks(),
          onBeforeCreate: ({ resource }, data) => {
            const albumId = data.albumId?.length;
            calls.push(`${resource.name} ${JSON.stringify({ ...data, albumId })}`);
            // A hook may set protected columns, but not the foreign key to the parent.
            return { ...data, albumId: "elsewhere", seconds: 1 };
          },
        },
      },
      awards: { hooks: hooks() },
    }, async ({ db, send }) => {
      const answer = await send("POST", "/api/artists", {
        name: "n",
        id: 5,
        albums: [{ title: "a", secret: "stripped", tracks: [{ title: "t" }] }, { title: "b" }],
        prizes: [{ name: "p" }],
      }, ada);
      assertEquals(answer.status, 201, JSON.stringify(answer.body));
      const [album] = answer.body.albums;
      assertEquals(album.tracks[0].albumId, album.id);
      assertEquals([album.ownerId, album.tracks[0].seconds], ["ada", 1]);
      assertEquals(calls, [
        'artists ada {"name":"n","id":5}',
        'albums ada {"title":"a","artistId":5}',
        'albums ada {"title":"b","artistId":5}',
        'tracks {"title":"t","albumId":36}',
        'awards ada {"artistId":5}',
        "artists",
        "albums",
        "albums",
        "tracks",
        "awards",
      ]);
      calls.length = 0;
      await send("POST", "/api/artists", { name: "m", albums: [{ title: "a" }] }, ada);
      // The database generates the key, which is unknown before the transaction.
      assertEquals(calls.slice(0, 2), ['artists ada {"name":"m"}', 'albums ada {"title":"a"}']);
      assertEquals((await counts(db)).albums, 3);
    });
  },
);

testOnEngines(
  "without the right to create a child nothing is written, and no hook runs",
  async (engine) => {
    let hooked = 0;
    const hooks = { onBeforeCreate: () => void hooked++, onAfterCreate: () => void hooked++ };
    const refusals: readonly (readonly [Changes, unknown, string])[] = [
      [
        { tracks: { auth: {} } },
        { albums: [{ title: "a", tracks: [{ title: "t" }] }] },
        "albums.0.tracks.0",
      ],
      [{ albums: { auth: { create: () => none() } } }, { albums: [{ title: "a" }] }, "albums.0"],
      [
        { awards: { auth: { create: () => none() } } },
        { tags: [], prizes: [{ name: "p" }] },
        "prizes.0",
      ],
    ];
    for (const [changes, body, path] of refusals) {
      await withMusic(engine, { ...changes, artists: { hooks } }, async (service) => {
        assertEquals(await create(service, { name: "n", ...Object(body) }), [403, { path }]);
        assertEquals(
          (await service.send("POST", "/api/artists", { name: "n", ...Object(body) })).status,
          401,
        );
        assertEquals([hooked, await counts(service.db)], [0, {}]);
        assertEquals((await create(service, { name: "n", albums: [], prizes: [] }))[0], 201);
        hooked = 0;
      });
    }
  },
);

testOnEngines(
  "a fault in an embedded row is reported with its path, by the rules of its own resource",
  (engine) =>
    withMusic(engine, { tags: { capabilities: { enableCreate: false } } }, async (service) => {
      const n = { name: "n" };
      const track = (fields: unknown) => ({ ...n, albums: [{ title: "a", tracks: [fields] }] });
      assertEquals(await refused(service, track({ titel: "t", seconds: "x" })), [
        422,
        'albums.0.tracks.0.titel is not a field. Did you mean "title"?',
        "albums.0.tracks.0.seconds must be a whole number",
      ]);
      assertEquals(await refused(service, track({ seconds: 1 })), [
        422,
        "albums.0.tracks.0.title is required",
      ]);
      assertEquals(await refused(service, track({ title: "t", albumId: "x" })), [
        422,
        "albums.0.tracks.0.albumId follows from the row around: leave it out",
      ]);
      assertEquals(await refused(service, { ...n, labelId: 1, label: { name: "l" } }), [
        422,
        "labelId follows from label: leave it out",
      ]);
      assertEquals(await refused(service, { ...n, albums: [{ title: "a", artist: n }] }), [
        422,
        "albums.0.artist follows from another row of the body: leave it out",
      ]);
      assertEquals(await refused(service, { ...n, albums: { title: "a" } }), [
        422,
        "albums.title is none of connect and create",
      ]);
      assertEquals(await refused(service, { ...n, albums: 7 }), [
        422,
        "albums must be a list of objects",
      ]);
      assertEquals(await refused(service, { ...n, albums: [{ title: "a" }, null] }), [
        422,
        "albums.1 must be an object",
      ]);
      assertEquals(await refused(service, { ...n, label: null }), [422, "label must be an object"]);
      assertEquals(await refused(service, { ...n, tags: [{ name: "t" }] }), [
        422,
        "tags.0 cannot be created here",
      ]);
      // Tracks have no nestedWrites: there the name of a relation is an unknown field.
      assertEquals(await refused(service, track({ title: "t", album: {} })), [
        422,
        "albums.0.tracks.0.album is not a field",
      ]);
      assertEquals(await counts(service.db), {});
    }),
);

testOnEngines(
  "a row that the user may not read is not linked, as one that does not exist",
  (engine) =>
    withMusic(engine, {
      tags: { auth: { create: () => all(), read: () => inList(tags.id, [1, 2]) } },
    }, async (service) => {
      const { db } = service;
      await insertRows(
        db,
        tags,
        [1, 2, 3].map((id) => ({ id, name: "t", secret: `${hiddenMark}${id}` })),
      );
      const link = (...ids: readonly unknown[]) =>
        refused(service, { name: "n", tags: ids.map((id) => ({ id })) });
      assertEquals(await link(1, 3), [422, "tags.1 names no row"]);
      assertEquals(await link(1, 99), [422, "tags.1 names no row"]);
      assertEquals(await link(2, 1, 2), [422, "tags.2 names the same row as tags.0"]);
      assertEquals(await link("x"), [422, "tags.0.id must be a whole number"]);
      assertEquals(await counts(db), { tags: 3 });
      const { status, body } = await service.send("POST", "/api/artists/batch", {
        items: [{ name: "a", tags: [{ id: 2 }, { id: 1 }] }, { name: "b", tags: [{ id: 2 }] }],
      }, ada);
      assertEquals(
        [status, body.items.map((item: { tags: unknown }) => item.tags)],
        [201, [[{ id: 2, name: "t" }, { id: 1, name: "t" }], [{ id: 2, name: "t" }]]],
      );
      assertEquals(await counts(db), { tags: 3, artists: 2, artist_tags: 3 });
    }),
);

testOnEngines(
  "linking the rows of a resource needs the right to read it",
  (engine) =>
    withMusic(engine, { tags: { auth: { create: () => all() } } }, async (service) => {
      await insertRows(service.db, tags, [{ id: 1, name: "t", secret: "s" }]);
      assertEquals(await refused(service, { name: "n", tags: [{ id: 1 }] }), [
        422,
        "tags.0 names no row",
      ]);
      assertEquals(await counts(service.db), { tags: 1 });
    }),
);

testOnEngines(
  "the number and depth of embedded rows have limits",
  (engine) =>
    withMusic(engine, {
      tracks: { batch: { create: 2 } },
      artists: { batch: { create: 1 } },
    }, async (service) => {
      const some = (count: number) => Array.from({ length: count }, (_, n) => ({ title: `${n}` }));
      const list = { name: "n", albums: [{ title: "a", tracks: some(3) }] };
      assertEquals(await create(service, list), [400, { path: "albums.0", limit: 2 }]);
      assertEquals(await create(service, { name: "n", albums: some(11) }), [400, { limit: 10 }]);
      const deep = {
        title: "0",
        artist: {
          name: "1",
          label: { name: "2", artists: [{ name: "3", tags: [{ name: "4" }] }] },
        },
      };
      const { status, body } = await service.send("POST", "/api/albums", deep, ada);
      assertEquals([status, body.details.errors], [422, [{
        path: "artist.label.artists.0.tags",
        message: "is embedded too deep: 3 levels are allowed",
      }]]);
      assertEquals(await counts(service.db), {});
      const fits = {
        title: "0",
        artist: { name: "1", label: { name: "2", artists: [{ name: "3" }] } },
      };
      assertEquals((await create(service, fits, "/api/albums"))[0], 201);
    }),
);

testOnEngines(
  "batches that change rows take no related ones",
  (engine) =>
    withMusic(engine, {}, async ({ db, send }) => {
      const embedded = { name: "n", albums: [{ title: "a" }] };
      await send("POST", "/api/artists", { id: 1, name: "n" }, ada);
      const writes: readonly (readonly [string, string, unknown, string])[] = [
        ["PATCH", "/api/artists/batch", { filter: "id==1", patch: embedded }, "patch.albums"],
        ["PUT", "/api/artists/batch", { items: [{ id: 1, ...embedded }] }, "items.0.albums"],
        [
          "POST",
          "/api/artists/batch/upsert",
          { items: [{ id: 2, ...embedded }] },
          "items.0.albums",
        ],
      ];
      for (const [method, path, body, fault] of writes) {
        const { status, body: { details } } = await send(method, path, body, ada);
        assertEquals([method, path, status, details.errors], [method, path, 422, [
          {
            path: fault,
            message: "is not taken here: write it with one row, by POST, PATCH or PUT",
          },
        ]]);
      }
      assertEquals(await counts(db), { artists: 1 });
    }),
);

testOnEngines(
  "disabled nestedWrites ignores embedded rows, or refuses them under strictInput",
  async (engine) => {
    const body = { name: "n", albums: [{ title: "a" }] };
    await withMusic(engine, { artists: { nestedWrites: false } }, async (service) => {
      const { status, body: answer } = await service.send("POST", "/api/artists", body, ada);
      assertEquals([status, Object.keys(answer)], [201, ["id", "labelId", "name", "shout"]]);
      assertEquals(await counts(service.db), { artists: 1 });
    });
    await withMusic(
      engine,
      { artists: { nestedWrites: false, strictInput: true } },
      async (service) => {
        assertEquals(await refused(service, body), [422, "albums is not a field"]);
      },
    );
    await withMusic(engine, { artists: { strictInput: true } }, async (service) => {
      assertEquals(await refused(service, { name: "n", albms: [] }), [
        422,
        'albms is not a field. Did you mean "albums"?',
      ]);
    });
  },
);

testOnEngines(
  "the tag of a nested create is that of the row itself",
  (engine) =>
    withMusic(engine, { artists: { etag: {} } }, async ({ get, send }) => {
      const created = await send("POST", "/api/artists", {
        name: "n",
        albums: [{ title: "a" }],
      }, ada);
      const read = await get(`/api/artists/${created.body.id}`);
      assertEquals([created.status, created.headers.get("etag")], [201, read.headers.get("etag")]);
    }),
);

const shops = table("shops", { id: integer().primaryKey(), code: text().unique() });
const goods = table("goods", {
  id: integer().primaryKey(),
  shopCode: text().as("shop_code"),
});

testOnEngines(
  "a child that would refer to no row is refused",
  async (engine) => {
    const auth = { create: () => all() };
    await withService(engine, [shops, goods], () => ({
      resources: [
        resource(shops, {
          id: shops.id,
          auth,
          nestedWrites: true,
          relations: {
            goods: {
              type: "hasMany",
              resource: goods,
              foreignKey: goods.shopCode,
              references: shops.code,
            },
          },
        }),
        resource(goods, { id: goods.id, auth: { create: () => eq(goods.shopCode, "c") } }),
      ],
    }), async ({ db, send }) => {
      const lone = await send("POST", "/api/shops", { goods: [{}] }, ada);
      assertEquals([lone.status, lone.body.details.errors], [422, [{
        path: "goods.0",
        message: "cannot be related: the other row has no value to refer to",
      }]]);
      const { rows } = await db.driver.query({ text: "SELECT count(*) FROM shops", values: [] });
      assertEquals(Number(rows[0]?.[0]), 0);
      const foreign = await send("POST", "/api/shops", { code: "d", goods: [{}, {}] }, ada);
      assertEquals([foreign.status, foreign.body.details], [403, { path: "goods.0" }]);
      const fine = await send("POST", "/api/shops", { code: "c", goods: [{}, {}] }, ada);
      assertEquals([fine.status, fine.body.goods.length, fine.body.goods[1].shopCode], [
        201,
        2,
        "c",
      ]);
    });
  },
);

testOnEngines(
  "a row that is marked deleted is not linked",
  (engine) =>
    // The mark is a text: a tag that has a name is deleted. Nothing would fill it in a new one.
    withMusic(engine, {
      tags: { softDelete: { field: tags.name }, capabilities: { enableCreate: false } },
    }, async (service) => {
      await insertRows(service.db, tags, [
        { id: 101, name: "", secret: `${hiddenMark}live` },
        { id: 102, name: "gone", secret: `${hiddenMark}gone` },
      ]);
      const link = (id: number) => ({ name: "n", tags: [{ id }] });
      assertEquals(await refused(service, link(102)), [422, "tags.0 names no row"]);
      assertEquals((await create(service, link(101)))[0], 201);
    }),
);

Deno.test("nestedWrites that cannot work are errors at the start", async () => {
  const [engine] = engines;
  if (engine === undefined) throw new Error("There is no engine");
  const db = await engine.open();
  const links = table("links", {
    artistId: integer().primaryKey().as("artist_id"),
    tagId: integer().primaryKey().as("tag_id"),
    since: text().notNull(),
  });
  const start = (...resources: ResourceDefinition[]) =>
    createApp({ db, secret: "a secret for the tests only", resources });
  try {
    await db.createTables([artists, tags, links, artistTags]);
    await assertRejects(
      () => start(resource(artists, { id: artists.id, nestedWrites: true })),
      Error,
      'Cannot serve "artists": nestedWrites needs relations to write along',
    );
    const linked = resource(artists, {
      id: artists.id,
      nestedWrites: true,
      relations: {
        tags: {
          type: "manyToMany",
          resource: tags,
          through: links,
          foreignKey: links.artistId,
          references: links.tagId,
        },
      },
    });
    const error = await assertRejects(() => start(linked, resource(tags, { id: tags.id })), Error);
    assertMatch(error.message, /relations\.tags: .* nothing can fill "since" of "links"/);
    await start(
      linked,
      resource(tags, { id: tags.id }),
      resource(links, { id: [links.artistId, links.tagId] }),
    );
  } finally {
    await db.close();
  }
});
