import { assertEquals } from "@std/assert";
import { all, eq, integer, none, resource, rsql, table, text } from "../../mod.ts";
import type { ScopeFunction } from "../../exports/options.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";
import { albumTags, tracks, watchStatements, withShop } from "./include_support.ts";

const onAlbum1 = { id: 5, name: "five", albumId: 1 };

// The shop's links that count: album 1 has jazz and it's, album 4 is deleted, and so is the link
// from album 2 to jazz.

testOnEngines(
  "a user without the right to the links of a relation sees and finds no row by them",
  async (engine) => {
    for (const albumTags of [null, () => none(), () => ""] as const) {
      await withShop(engine, { albumTags }, async (service) => {
        await insertRows(service.db, tracks, [onAlbum1]);
        const statements = watchStatements(service.db);
        assertEquals(await narrowedFor(service, { "x-user": "ada" }), nothing);
        assertEquals(await narrowedFor(service, {}), nothing);
        assertEquals(statements.filter(({ text }) => text.includes("album_tags")), []);
      });
    }
  },
);

testOnEngines(
  "links outside of the user's scope are not walked, at any step",
  async (engine) => {
    const albumTagsScope: ScopeFunction = ({ id }) => {
      if (id === "ada") return all();
      return id === "bob" ? eq(albumTags.tagId, "it's") : rsql`album.title==${id}`;
    };
    await withShop(engine, { albumTags: albumTagsScope }, async (service) => {
      await insertRows(service.db, tracks, [onAlbum1]);
      const everything = {
        tagsOfAlbum: ["it's", "jazz"],
        tagsOfAlbums: [["it's", "jazz"], []],
        albumsOfTags: [[1], [1]],
        andBack: [[["it's", "jazz"]], [["it's", "jazz"]]],
        filteredInside: [1],
        loud: [1],
        loudTracks: [5],
        artists: [1],
      };
      assertEquals(await narrowedFor(service, { "x-user": "ada" }), everything);
      assertEquals(
        await narrowedFor(service, { "x-user": "c" }),
        everything,
        "the album's title is c",
      );
      assertEquals(await narrowedFor(service, { "x-user": "bob" }), {
        tagsOfAlbum: ["it's"],
        tagsOfAlbums: [["it's"], []],
        albumsOfTags: [[1], []],
        andBack: [[["it's"]], []],
        filteredInside: [],
        loud: [],
        loudTracks: [],
        artists: [],
      });
      assertEquals(await narrowedFor(service, { "x-user": "x" }), nothing, "no album is called x");
      assertEquals(await narrowedFor(service, {}), nothing, "reading links needs a user");
    });
  },
);

const groups = table("groups", { id: integer().primaryKey(), name: text().notNull() });
const people = table("people", { id: integer().primaryKey(), name: text().notNull() });
const memberships = table("memberships", {
  id: integer().primaryKey(),
  groupId: integer().notNull().as("group_id"),
  personId: integer().notNull().as("person_id"),
  role: text().notNull(),
});

testOnEngines(
  "of several resources that serve a link table, the first one decides which links are shown",
  async (engine) => {
    const own = resource(memberships, {
      id: memberships.id,
      auth: { read: (user) => eq(memberships.role, user.id) },
    });
    const open = resource(memberships, {
      id: memberships.id,
      path: "open",
      auth: { public: { read: true } },
    });
    for (const [links, seen] of [[[own, open], [[1], []]], [[open, own], [[1, 2], [1, 2]]]]) {
      await withGroups(engine, links as readonly (typeof own)[], all, async ({ get }) => {
        const members = async (headers: Record<string, string>) => {
          const { body } = await get("/api/groups/1?include=members", headers);
          return body.members.map(({ id }: { readonly id: number }) => id);
        };
        assertEquals(
          [await members({ "x-user": "admin" }), await members({ "x-user": "x" })],
          seen,
        );
      });
    }
  },
);

testOnEngines(
  "a scope of the deployer walks every link, whatever users may read",
  (engine) => {
    const hidden = resource(memberships, { id: memberships.id, auth: {} });
    const scope: ScopeFunction = ({ id }) => rsql`members.name==${id}`;
    return withGroups(engine, [hidden], scope, async ({ get }) => {
      const { body } = await get("/api/groups?include=members", { "x-user": "bob" });
      assertEquals(body.items, [{ id: 1, name: "one", members: [] }]);
    });
  },
);

function withGroups(
  engine: Parameters<typeof withService>[0],
  links: readonly ReturnType<typeof resource>[],
  scope: ScopeFunction,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const config = () => ({
    resources: [
      resource(groups, {
        id: groups.id,
        auth: { read: scope },
        relations: {
          members: {
            type: "manyToMany",
            resource: people,
            through: memberships,
            foreignKey: memberships.groupId,
            references: memberships.personId,
          },
        },
      }),
      resource(people, { id: people.id, auth: { public: { read: true } } }),
      ...links,
    ],
  });
  return withService(engine, [groups, people, memberships], config, async (service) => {
    const { db } = service;
    await insertRows(db, groups, [{ id: 1, name: "one" }, { id: 2, name: "two" }]);
    await insertRows(db, people, [{ id: 1, name: "ada" }, { id: 2, name: "bob" }]);
    await insertRows(db, memberships, [
      { id: 1, groupId: 1, personId: 1, role: "admin" },
      { id: 2, groupId: 1, personId: 2, role: "guest" },
    ]);
    await work(service);
  });
}

const nothing = {
  tagsOfAlbum: [],
  tagsOfAlbums: [[], []],
  albumsOfTags: [[], []],
  andBack: [[], []],
  filteredInside: [],
  loud: [],
  loudTracks: [],
  artists: [],
};

/** The rows that the links show to a user, in every request that walks them. */
async function narrowedFor({ get }: Service, headers: Record<string, string>) {
  const read = async (path: string) => (await get(`/api/${path}`, headers)).body;
  const items = async (path: string) => (await read(path)).items;
  const album = await read("albums/1?include=tags");
  const some = await items("albums?filter=id<3&include=tags");
  const tags = await items("tags?include=albums(include:tags)");
  const filter = encodeURIComponent("tags.label==loud");
  const { count } = await read(`albums/count?filter=${filter}`);
  const { groups } = await read(`albums/aggregate?filter=${filter}&groupBy=id`);
  const loud = idsOf(await items(`albums?filter=${filter}`));
  assertEquals([count, groups.length], [loud.length, loud.length]);
  const exported: string = (await get(`/api/albums?filter=${filter}&select=id`, {
    ...headers,
    accept: "application/x-ndjson",
  })).body;
  assertEquals(exported.trim().split("\n").filter((line) => line !== "").length, loud.length);
  const [artist] = await items("artists?filter=id==1&include=albums(filter:tags.label==loud)");
  return {
    tagsOfAlbum: idsOf(album.tags),
    tagsOfAlbums: some.map(({ tags }: Nested) => idsOf(tags)),
    albumsOfTags: tags.map(({ albums }: Nested) => idsOf(albums)),
    andBack: tags.map(({ albums }: Nested) => albums.map(({ tags }) => idsOf(tags))),
    filteredInside: idsOf(artist.albums),
    loud,
    loudTracks: idsOf(await items("tracks?filter=album.tags.label==loud")),
    artists: idsOf(await items("artists?filter=albums.tags.label==loud")),
  };
}

interface Nested {
  readonly id: unknown;
  readonly tags: readonly Nested[];
  readonly albums: readonly Nested[];
}

function idsOf(rows: readonly Nested[]): readonly unknown[] {
  return rows.map(({ id }) => id);
}
