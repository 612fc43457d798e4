import { assertEquals } from "@std/assert";
import { all, integer, openDatabase, resource, table, text } from "../../mod.ts";
import { createTables } from "../../src/db/tables/create_tables.ts";
import { createRowReader } from "../../src/db/rows.ts";
import { sqliteDriver } from "../../src/engines/sqlite/driver/open_sqlite_file.ts";
import type { SqliteLibrary } from "../../src/engines/sqlite/driver/sqlite_library.ts";
import { allRows } from "../../src/filter/filter.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { fails } from "../conformance/driver.ts";
import { insertRows, type Service, withService } from "../support/http.ts";
import { clockOfLooks, countingRows, readLimits, sqliteLibraries } from "./sqlite_reads_support.ts";

const authors = table("authors", { id: integer().primaryKey(), name: text().notNull() });
const posts = table("posts", {
  id: integer().primaryKey(),
  authorId: integer().notNull().references(() => authors.id),
  rank: integer().notNull(),
  title: text().notNull(),
});
const notes = table("notes", { id: integer().primaryKey(), body: text().notNull() });

for (const library of sqliteLibraries) {
  const test = (name: string, work: () => Promise<void>) =>
    Deno.test(`${name} (${library.name})`, work);

  test("a read that scans kept all other requests waiting until its end", async () => {
    await withPosts(library, 3_000, async ({ get }) => {
      const many = Array.from({ length: 20 }, (_, n) => `title=icontains=zz${n}`).join(",");
      for (
        const path of [
          "posts/count",
          "posts/count?filter=title==zzz",
          "posts/count?filter=author.posts.title==zzz",
          "posts?filter=title==zzz",
          "posts?orderBy=title",
          `posts?filter=${many}`,
          "posts/aggregate?groupBy=title&count=true",
          "posts/aggregate?sum=rank",
          "authors?include=posts(orderBy:-title)",
        ]
      ) {
        const { status, body } = await get(`/api/${path}`);
        assertEquals([status, body.type?.split("/").at(-1)], [422, "query-too-expensive"], path);
      }
    });
  });

  test("a batch by a filter that scans kept all other requests waiting until its end", async () => {
    await withPosts(library, 3_000, async ({ get, send }) => {
      for (const filter of ["title==zzz", "title!=zzz;rank==99"]) {
        for (
          const [method, change] of [["PATCH", { patch: { rank: 8 } }], ["DELETE", {}]] as const
        ) {
          const body = { filter, ...change };
          const refused = await send(method, "/api/posts/batch", body, { "x-user": "ada" });
          assertEquals(
            [refused.status, refused.body.type.split("/").at(-1)],
            [422, "query-too-expensive"],
            `${method} ${filter}`,
          );
        }
      }
      const patch = { filter: "id=in=(1,2)", patch: { rank: 8 } };
      const written = await send("PATCH", "/api/posts/batch", patch, { "x-user": "ada" });
      assertEquals([written.status, written.body], [200, { count: 2 }]);
      assertEquals((await get("/api/posts/3")).body.rank, 2);
    });
  });

  test("a batch evaluated a dear filter again in its transaction, and all requests waited", async () => {
    await withPosts(library, 0, async ({ db, get, send }) => {
      const title = "x".repeat(200_000);
      const terms = Array.from({ length: 10 }, (_, n) => `title=contains=${"x".repeat(n + 2)}`);
      const rows = Array.from(
        { length: 20 },
        (_, n) => ({ id: n + 1, authorId: 1, rank: 1, title }),
      );
      await insertRows(db, posts, rows);
      for (const [method, change] of [["PATCH", { patch: { rank: 8 } }], ["DELETE", {}]] as const) {
        const body = { filter: terms.join(";"), ...change };
        const refused = await send(method, "/api/posts/batch", body, { "x-user": "ada" });
        assertEquals([refused.status, refused.body.code], [422, "QUERY_TOO_EXPENSIVE"], method);
      }
      assertEquals((await get("/api/posts/count?filter=rank==1")).body, { count: 20 });
    }, 5_000);
  });

  test("a read by key or of a page by index has nothing to fear from the limit", async () => {
    await withPosts(library, 3_000, async ({ get }) => {
      for (
        const path of [
          "posts/7",
          "posts?limit=20",
          "posts?filter=id>1000&orderBy=-id&limit=20",
          "posts?filter=id=in=(1,2,3)",
          "posts/7?include=author",
        ]
      ) {
        assertEquals((await get(`/api/${path}`)).status, 200, path);
      }
    });
  });

  test("a page of rows of a megabyte held all of them", async () => {
    const counting = countingRows(library);
    const driver = await sqliteDriver(counting, ":memory:");
    const info = tableInfoOf(notes);
    await createTables(driver, [info]);
    const text = "INSERT INTO notes VALUES (?, ?)";
    const insert = (id: number, title: string) => driver.query({ text, values: [id, title] });
    const { compile } = createRowReader(driver.dialect, () => {});
    const order = [{ column: info.primaryKey[0] ?? fail(), descending: false }];
    const page = (limit: number) =>
      compile({
        ...{ kind: "read", table: info, columns: info.columns, where: allRows },
        ...{ order, after: null, limit },
      });
    const mega = "x".repeat(1_000_000);
    for (let id = 1; id <= 40; id++) await insert(id, mega);
    const limits = readLimits({ maxBytes: 4_000_000 });
    const before = counting.rows;
    await fails(driver.reads(limits).query(page(40)), "too-large");
    assertEquals(counting.rows - before, 1, "the widest row was measured, and no row was given");
    assertEquals((await driver.reads(limits).query(page(3))).rows.length, 3);

    const reads = driver.reads(limits);
    await reads.query(page(3));
    await fails(reads.query(page(1)), "too-large", "the statements of a request share its bytes");

    await driver.close();
  });

  test("rows of a megabyte were sorted in the thread of all requests", async () => {
    const counting = countingRows(library);
    const driver = await sqliteDriver(counting, ":memory:");
    const info = tableInfoOf(notes);
    await createTables(driver, [info]);
    const text = "INSERT INTO notes VALUES (?, ?)";
    const { compile } = createRowReader(driver.dialect, () => {});
    const order = info.columns.map((column) => ({ column, descending: true })).toReversed();
    const page = compile({
      ...{ kind: "read", table: info, columns: info.primaryKey, where: allRows },
      ...{ order, after: null, limit: 1 },
    });
    const last = async () => (await driver.reads(readLimits()).query(page)).rows;
    await driver.query({ text, values: [1, "y".repeat(1_000)] });
    const before = counting.runs;
    assertEquals(await last(), [[1]]);
    assertEquals(counting.runs - before, 2, "the widest row was measured, and the page read");
    await driver.query({ text, values: [2, "x".repeat(1_000_000)] });
    const afterIt = counting.runs;
    assertEquals(await last(), [[1]]);
    assertEquals(counting.runs - afterIt, 0);
    await driver.close();
  });

  test("rows that grew after their table was measured were held all at once", async () => {
    const counting = countingRows(library);
    const driver = await sqliteDriver(counting, ":memory:");
    const info = tableInfoOf(notes);
    await createTables(driver, [info]);
    const { compile } = createRowReader(driver.dialect, () => {});
    const order = [{ column: info.primaryKey[0] ?? fail(), descending: false }];
    const page = compile({
      ...{ kind: "read", table: info, columns: info.columns, where: allRows },
      ...{ order, after: null, limit: 40 },
    });
    const limits = readLimits({ maxBytes: 4_000_000 });
    await driver.reads(limits).query(page);
    const text = "INSERT INTO notes VALUES (?, ?)";
    const mega = "x".repeat(1_000_000);
    for (let id = 1; id <= 40; id++) await driver.query({ text, values: [id, mega] });
    const before = counting.rows;
    await fails(driver.reads(limits).query(page), "too-large");
    assertEquals(counting.rows - before, 0);
    await driver.close();
  });
}

function fail(): never {
  throw new Error("The table has a key");
}

/** Over a clock that counts looks at the time: as many as a query may take milliseconds. */
async function withPosts(
  library: SqliteLibrary,
  count: number,
  work: (service: Service) => Promise<void>,
  queryTimeoutMs = 20,
): Promise<void> {
  const open = async () =>
    await openDatabase(
      await sqliteDriver(library, ":memory:", { clock: clockOfLooks() }, 0),
    );
  await withService(
    { name: library.name, open },
    [authors, posts],
    () => ({
      queryTimeoutMs,
      resources: [
        resource(authors, {
          id: authors.id,
          auth: { public: { read: true } },
          relations: {
            posts: {
              type: "hasMany",
              resource: posts,
              foreignKey: posts.authorId,
              filterable: true,
            },
          },
        }),
        resource(posts, {
          id: posts.id,
          auth: { public: { read: true }, update: () => all(), delete: () => all() },
          relations: {
            author: {
              type: "belongsTo",
              resource: authors,
              foreignKey: posts.authorId,
              filterable: true,
            },
          },
        }),
      ],
    }),
    async (service) => {
      await insertRows(service.db, authors, [{ id: 1, name: "ada" }]);
      const rows = Array.from({ length: count }, (_, n) => ({
        id: n + 1,
        authorId: 1,
        rank: n % 7,
        title: `title ${n}`,
      }));
      await insertRows(service.db, posts, rows);
      await work(service);
    },
  );
}
