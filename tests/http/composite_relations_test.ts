import { assertEquals, assertMatch } from "@std/assert";
import { all, type Database, resource, rsql, type User } from "../../mod.ts";
import type { ResourceDefinition } from "../../mod.ts";
import type { TableInfo } from "../../exports/schema.ts";
import type { Engine } from "../support/engines.ts";
import { type Service, testOnEngines, testOnEveryEngine, withService } from "../support/http.ts";
import { runScript } from "../support/scratch.ts";

/** Two tenants that use the same numbers, one of them beyond what a double holds. */
const script = `
CREATE TABLE author (tenant VARCHAR(8) NOT NULL, number BIGINT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY (tenant, number));
CREATE TABLE book (id INTEGER PRIMARY KEY, tenant VARCHAR(8), author_number BIGINT, title TEXT NOT NULL,
  FOREIGN KEY (tenant, author_number) REFERENCES author (tenant, number), UNIQUE (tenant, id));
CREATE TABLE tag (tenant VARCHAR(8) NOT NULL, id INTEGER NOT NULL, label TEXT NOT NULL,
  PRIMARY KEY (tenant, id));
CREATE TABLE book_tag (tenant VARCHAR(8) NOT NULL, book_id INTEGER NOT NULL, tag_id INTEGER NOT NULL,
  since TIMESTAMP, PRIMARY KEY (tenant, book_id, tag_id),
  FOREIGN KEY (tenant, book_id) REFERENCES book (tenant, id),
  FOREIGN KEY (tenant, tag_id) REFERENCES tag (tenant, id));
INSERT INTO author VALUES ('a', 1, 'ann'), ('b', 1, 'bob'), ('a', 9007199254740993, 'max'),
  ('b', 9007199254740992, 'eve');
INSERT INTO book VALUES (1, 'a', 1, 'one'), (2, 'b', 1, 'two'), (3, 'a', 9007199254740993, 'three'),
  (4, 'b', 9007199254740992, 'four'), (5, 'a', NULL, 'five'), (6, NULL, 1, 'six'), (7, 'a', 1, 'seven');
INSERT INTO tag VALUES ('a', 1, 'red'), ('b', 1, 'blue'), ('a', 2, 'new');
INSERT INTO book_tag (tenant, book_id, tag_id) VALUES ('a', 1, 1), ('a', 1, 2), ('b', 2, 1), ('a', 3, 1);
`;

const byAuthor = "CREATE INDEX book_by_author ON book (author_number, tenant)";

async function withLibrary(
  engine: Engine,
  more: string,
  define: (table: TableInfo) => object,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  await runScript(db.driver, script + more);
  const { tables } = await db.introspect();
  const definition = (table: TableInfo): ResourceDefinition =>
    resource(table, {
      id: table.primaryKey.map(({ name }) => name),
      auth: { public: { read: true } },
      autoRelations: { filterable: true },
      ...define(table),
    });
  const open = (): Promise<Database> => Promise.resolve(db);
  await withService({ ...engine, open }, [], () => ({ resources: tables.map(definition) }), work);
}

const nothing = () => ({});

for (const [index, testOn] of [["", testOnEveryEngine], [byAuthor, testOnEngines]] as const) {
  testOn(
    `relations by keys of several columns are walked by all of them${
      index === "" ? "" : ", by index"
    }`,
    (engine) =>
      withLibrary(engine, index, nothing, async ({ get }) => {
        const items = async (path: string) => {
          const { status, body } = await get(`/api/${path}`);
          assertEquals(status, 200, `${path}: ${JSON.stringify(body)}`);
          return body.items;
        };
        const named = (rows: readonly { readonly author: { readonly name: string } | null }[]) =>
          rows.map(({ author }) => author?.name ?? null);
        assertEquals(
          named(await items("book?include=author&orderBy=id")),
          // A NULL in one of the columns is no key.
          ["ann", "bob", "max", "eve", null, null, "ann"],
        );
        const authors = await items(
          "author?orderBy=name&include=book(select:id;orderBy:-id;limit:5)",
        );
        assertEquals(
          authors.map(({ name, book }: { name: string; book: { id: number }[] }) => [
            ...[name, ...book.map(({ id }) => id)],
          ]),
          [["ann", 7, 1], ["bob", 2], ["eve", 4], ["max", 3]],
        );
        const books = await items("book?orderBy=id&limit=3&include=tag(select:label),book_tag");
        assertEquals(
          books.map(({ tag, book_tag }: { tag: { label: string }[]; book_tag: unknown[] }) => [
            ...[tag.map(({ label }) => label).toSorted(), book_tag.length],
          ]),
          [[["new", "red"], 2], [["blue"], 1], [["red"], 1]],
        );
        for (
          const [path, expected] of [
            ["book?filter=author.name==bob", [2]],
            ["book?filter=author.number==1;author.tenant==a", [1, 7]],
            ["book?filter=author.book.title==seven", [1, 7]],
            ["book?filter=tag.label==red", [1, 3]],
            ["book?filter=tag.book.author.name==max", [1, 3]],
            ["book?filter=author.name!=bob", [1, 3, 4, 7]],
          ] as const
        ) {
          const ids = (await items(`${path}&orderBy=id`)).map(({ id }: { id: number }) => id);
          assertEquals(ids, expected, path);
        }
        const { body: { items: [ann, ...others] } } = await get(
          "/api/author?filter=book.title==one",
        );
        assertEquals([ann.name, others], ["ann", []]);
        assertEquals((await items("tag?filter=book.author.name==ann&orderBy=id")).length, 2);
      }),
  );
}

const isOpen = () => all();
const rights = { read: isOpen, create: isOpen, update: isOpen, delete: isOpen, subscribe: isOpen };
const ada = { "x-user": "ada" };

testOnEngines(
  "scopes, streams and nested writes follow keys of several columns",
  (engine) =>
    withLibrary(engine, "", (table) => ({
      nestedWrites: true,
      auth: table.name === "book"
        ? {
          ...rights,
          read: (user: User) => user.id === "ada" ? all() : rsql`author.name==${user.id}`,
        }
        : rights,
    }), async ({ get, send, subscribe }) => {
      const { body } = await get("/api/book?orderBy=id", { "x-user": "ann" });
      assertEquals(body.items.map(({ id }: { id: number }) => id), [1, 7]);

      const stream = await subscribe("/api/book/subscribe?include=author,tag&orderBy=id", ada);
      await stream.untilSynced();
      const ofBob = "/api/author/b,1";
      assertEquals((await send("PATCH", ofBob, { name: "rob" }, ada)).status, 200);
      const [changed] = await stream.take(1);
      assertEquals([changed?.type, changed?.data.id, changed?.data.item.author.name], [
        "changed",
        2,
        "rob",
      ]);
      const moved = await send("PATCH", "/api/book/7", `{"author_number":9007199254740993}`, ada);
      assertEquals(moved.status, 200, JSON.stringify(moved.body));
      const [own] = await stream.take(1);
      assertEquals([own?.data.id, own?.data.item.author.name], [7, "max"]);
      assertEquals((await send("PATCH", "/api/tag/b,1", { label: "sky" }, ada)).status, 200);
      const [tagged] = await stream.take(1);
      assertEquals([tagged?.data.id, tagged?.data.item.tag[0].label], [2, "sky"]);
      await stream.close();

      const book = await send("POST", "/api/book", {
        ...{ id: 20, title: "twenty", author: { tenant: "c", number: 5, name: "cay" } },
        tag: [{ tenant: "c", id: 1, label: "late" }],
      }, ada);
      assertEquals(book.status, 201, JSON.stringify(book.body));
      const { tenant, author_number, author, tag } = book.body;
      assertEquals([tenant, author_number, author.name, tag[0].label], [
        "c",
        5,
        "cay",
        "late",
      ]);
      const parent = await send("POST", "/api/author", {
        ...{ tenant: "d", number: 6, name: "dan", book: [{ id: 21, title: "x" }] },
      }, ada);
      assertEquals(parent.body.book.map(({ tenant }: { tenant: string }) => tenant), ["d"]);
      const given = await send("POST", "/api/book", {
        ...{ id: 22, title: "y", tenant: "c", author: { tenant: "e", number: 7, name: "z" } },
      }, ada);
      assertEquals([given.status, given.body.details.errors[0].path], [422, "tenant"]);
      // The link would be of one tenant, and the tag of another.
      const torn = await send("POST", "/api/book", {
        ...{ id: 23, title: "y", author: { tenant: "e", number: 7, name: "z" } },
        tag: [{ tenant: "a", id: 1 }],
      }, ada);
      assertEquals(torn.status, 422);
      assertMatch(JSON.stringify(torn.body), /the rows differ in what \\"tenant\\" refers to/);
      assertEquals((await get("/api/book/23", ada)).status, 404);
    }),
);

testOnEngines(
  "rows are connected and disconnected by keys of several columns, and tenants stay as they are",
  (engine) =>
    withLibrary(engine, "", () => ({ nestedWrites: true, auth: rights }), async ({ send }) => {
      const patch = async (path: string, body: unknown) => {
        const { status, body: answer } = await send("PATCH", `/api/${path}`, body, ada);
        return [status, answer.details?.errors?.[0].path ?? answer];
      };
      const [status, book] = await patch(
        "book/1",
        `{
        "author": { "connect": ["a", 9007199254740993] },
        "tag": { "connect": [["a", 1]], "disconnect": [{ "tenant": "a", "id": 2 }] }
      }`,
      );
      assertEquals(status, 200, JSON.stringify(book));
      assertEquals([status, book.author.name, book.tag], [
        ...[200, "max", [{ tenant: "a", id: 1, label: "red" }]],
      ]);
      const [, alone] = await patch("book/1", { author: { disconnect: true } });
      assertEquals([alone.tenant, alone.author_number, alone.author], ["a", null, null]);
      const [, ann] = await patch("author/a,1", { book: { connect: [5, 1], disconnect: [7] } });
      assertEquals(ann.book.map(({ id }: { id: number }) => id), [1, 5]);
      const [, left] = await patch("author/a,1", { book: { set: [1] } });
      assertEquals(left.book.map(({ tenant }: { tenant: string }) => tenant), ["a"]);
      const refusals = [
        [{ author: { connect: 1 } }, "author.connect"],
        [{ author: { connect: ["a"] } }, "author.connect"],
        [{ author: { connect: ["a", "x"] } }, "author.connect.1"],
        [{ author: { connect: { tenant: "a" } } }, "author.connect"],
        [{ author: { connect: { tenant: "a", number: "x" } } }, "author.connect.number"],
        [{ author: { connect: ["c", 1] } }, "author.connect"],
        [{ author: { connect: ["a", 1] }, tenant: "a" }, "tenant"],
        [{ tag: { connect: [["b", 1]] } }, "tag.connect.0"],
      ] as const;
      for (const [body, path] of refusals) {
        assertEquals(await patch("book/1", body), [422, path], JSON.stringify(body));
      }
    }),
);

testOnEngines(
  "declared relations take lists of columns, and refuse those that do not match",
  async (engine) => {
    const writer = (more: object = {}) => ({
      type: "belongsTo",
      resource: "author",
      foreignKey: ["tenant", "author_number"],
      filterable: true,
      ...more,
    });
    const declare = (relations: object) => (table: TableInfo) =>
      table.name === "book" ? { autoRelations: false, relations } : {};
    await withLibrary(
      engine,
      "",
      declare({
        writer: writer(),
        swapped: writer({
          foreignKey: ["author_number", "tenant"],
          references: ["number", "tenant"],
        }),
      }),
      async ({ get }) => {
        for (const name of ["writer", "swapped"]) {
          const { body } = await get(`/api/book?include=${name}&filter=${name}.name==max`);
          assertEquals(
            body.items.map((item: Record<string, { name: string }>) => item[name]?.name),
            [
              "max",
            ],
          );
        }
        const { body } = await get("/__service/schema");
        const book = body.resources.find(({ name }: { name: string }) => name === "book");
        assertEquals(book.relations[0].on, {
          field: ["tenant", "author_number"],
          references: ["tenant", "number"],
        });
      },
    );
    for (
      const [relation, message] of [
        [
          writer({ foreignKey: ["tenant"] }),
          /compares the columns "tenant" with "tenant", "number"/,
        ],
        [writer({ foreignKey: "tenant" }), /must be lists of as many/],
        [writer({ foreignKey: [] }), /compares the columns none with/],
        [writer({ references: ["number", "tenant"] }), /"tenant" \(text\) and "number"/],
        [writer({ foreignKey: ["tenant", "nope"] }), /its column is none of "book"/],
      ] as const
    ) {
      const served = withLibrary(
        engine,
        "",
        declare({ writer: relation }),
        () => Promise.resolve(),
      );
      assertMatch(String(await served.catch((error) => error)), message);
    }
  },
);
