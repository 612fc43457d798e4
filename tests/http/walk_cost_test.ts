import { assert, assertEquals } from "@std/assert";
import { integer, resource, type ResourceDefinition, table, text } from "../../mod.ts";
import { type Engine, engines } from "../support/engines.ts";
import { insertRows, type Service, withService } from "../support/http.ts";
import { testUnless } from "../support/skip.ts";
import { countFolds } from "./walk_support.ts";

const authors = table("authors", { id: integer().primaryKey(), name: text().notNull() });
const posts = table("posts", {
  id: integer().primaryKey(),
  authorId: integer().as("author_id").references(() => authors.id),
  title: text().notNull(),
});
/** One author has all posts but one. */
const count = 2_000;

const definitions: readonly ResourceDefinition[] = [
  resource(authors, {
    id: authors.id,
    auth: { public: { read: true } },
    relations: {
      posts: { type: "hasMany", resource: "posts", foreignKey: posts.authorId, filterable: true },
    },
  }),
  resource(posts, {
    id: posts.id,
    auth: { public: { read: true } },
    relations: {
      author: {
        type: "belongsTo",
        resource: authors,
        foreignKey: posts.authorId,
        filterable: true,
      },
    },
  }),
];

/** Each evaluation of the innermost comparison folds one title, since é is no ASCII. */
const missing = encodeURIComponent("=icontains=é");

interface World extends Service {
  /** The titles that a request looked at, and its count. */
  looked(path: string): Promise<{ readonly titles: number; readonly count: number }>;
}

function testWalks(name: string, isIndexed: boolean, work: (world: World) => Promise<void>): void {
  for (const engine of engines.filter(({ name }) => name.includes("sqlite"))) {
    testUnless(engine.ignore ?? null, `${name} (${engine.name})`, async () => {
      using folds = countFolds();
      const config = () => ({ basePath: "/api", resources: definitions });
      const opened = isIndexed ? withIndex(engine) : engine;
      await withService(opened, [authors, posts], config, async (service) => {
        await insertRows(service.db, authors, [{ id: 1, name: "ada" }, { id: 2, name: "bob" }]);
        await insertRows(
          service.db,
          posts,
          Array.from({ length: count }, (_, id) => ({
            id,
            authorId: id === 0 ? 2 : 1,
            title: `title ${id}`,
          })),
        );
        await work({
          ...service,
          looked: async (path) => {
            folds.take();
            const { status, body } = await service.get(path);
            assertEquals(status, 200, JSON.stringify(body));
            return { titles: folds.take(), count: body.count ?? body.items.length };
          },
        });
      });
    });
  }
}

/** Its tables have an index when the service starts. */
function withIndex(engine: Engine): Engine {
  const text = "CREATE INDEX by_author ON posts (author_id)";
  return {
    ...engine,
    open: async (options) => {
      const db = await engine.open(options);
      return {
        ...db,
        createTables: async (tables) => {
          await db.createTables(tables);
          await db.query({ text, values: [] });
        },
      };
    },
  };
}

for (const isIndexed of [true, false]) {
  const index = isIndexed ? "with an index" : "without an index";
  testWalks(
    `a walk there and back looks at each post of an author once, not once for each other, ${index}`,
    isIndexed,
    async ({ looked }) => {
      for (
        const filter of [
          `author.posts.title${missing}`,
          `author.posts.title${missing},title==none`,
          `title==none,author.posts.title${missing}`,
        ]
      ) {
        const { titles, count: found } = await looked(`/api/posts/count?filter=${filter}`);
        assertEquals(found, 0);
        assertAtMost(titles, count, filter);
      }
    },
  );
}

testWalks(
  "two walks there and back look at the posts twice, not once for each pair",
  true,
  async ({ looked }) => {
    const walk = `author.posts.title${missing}`;
    const { titles } = await looked(`/api/posts/count?filter=${walk},${walk}`);
    assertAtMost(titles, 2 * count);
    const back = await looked(`/api/authors/count?filter=posts.author.posts.title${missing}`);
    assertAtMost(back.titles, count);
  },
);

testWalks(
  "a list by a walk with an index looks at the related rows of its own rows only",
  true,
  async ({ looked }) => {
    const filter = `id==2;posts.title${missing}`;
    assertEquals((await looked(`/api/authors?filter=${filter}`)).titles, 1);
    const first = await looked("/api/authors?limit=1&filter=posts.title=icontains=title");
    assertEquals(first.count, 1);
  },
);

function assertAtMost(actual: number, most: number, message = ""): void {
  assert(actual > 0 && actual <= most, `${actual} rows, at most ${most}: ${message}`);
}
