import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import {
  bigint,
  boolean,
  createApp,
  decimal,
  eq,
  type InferApi,
  integer,
  openDatabase,
  real,
  resource,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import { createClient } from "../../exports/client.ts";
import { insertRows, type Service, testOnDialects, withService } from "../support/http.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { repeats } from "../support/repeats.ts";
import { watchStatements } from "./include_support.ts";

const authors = table("authors", { id: integer().primaryKey(), name: text() });
const books = table("books", {
  id: integer().primaryKey(),
  authorId: integer().as("author_id"),
  title: text(),
  price: decimal({ precision: 12, scale: 2 }),
  pages: integer(),
  sold: bigint(),
  secret: integer(),
  owner: text().notNull(),
  deletedAt: timestamp().as("deleted_at"),
});
const tags = table("tags", { id: integer().primaryKey(), weight: decimal({ scale: 2 }) });
const bookTags = table("book_tags", {
  id: integer().primaryKey(),
  bookId: integer().notNull().as("book_id"),
  tagId: integer().notNull().as("tag_id"),
  owner: text().notNull(),
  gone: boolean().notNull(),
});
const tables = [authors, books, tags, bookTags];

const scope = {
  public: { read: () => eq(books.owner, "all"), subscribe: () => eq(books.owner, "all") },
  read: ({ id }: { id: string }) => eq(books.owner, id),
};
const linkScope = {
  public: { read: () => eq(bookTags.owner, "all") },
  read: ({ id }: { id: string }) => eq(bookTags.owner, id),
};
const seen = [books.id, books.authorId, books.title, books.price, books.sold];
const open = { public: { read: true, subscribe: true } } as const;
const served = () => ({
  resources: [
    resource(authors, {
      id: authors.id,
      auth: open,
      relations: { books: { type: "hasMany", resource: books, foreignKey: books.authorId } },
    }),
    resource(books, {
      id: books.id,
      auth: {
        ...scope,
        create: () => eq(books.owner, "all"),
        update: () => eq(books.owner, "all"),
      },
      softDelete: { field: books.deletedAt },
      fields: {
        readable: {
          all: [...seen, books.pages],
          by: (user) => user?.id === "ada" ? [...seen, books.pages] : seen,
        },
        filterable: [...seen, books.pages],
      },
      relations: {
        author: { type: "belongsTo", resource: authors, foreignKey: books.authorId },
        tags: {
          type: "manyToMany",
          resource: tags,
          through: bookTags,
          foreignKey: bookTags.bookId,
          references: bookTags.tagId,
        },
      },
    }),
    resource(tags, { id: tags.id, auth: { public: { read: true } } }),
    resource(bookTags, {
      id: bookTags.id,
      auth: linkScope,
      softDelete: { field: bookTags.gone },
    }),
  ],
});

type Api = InferApi<ReturnType<typeof served>>;

/** An item of `include` with the SQL that answers the same for each parent. */
interface Question {
  readonly relation: "books" | "tags";
  readonly filter: readonly [rsql: string, sql: string];
  readonly metrics: ReadonlyMap<string, readonly string[]>;
}

const bookFilters: readonly Question["filter"][] = [
  ["", "TRUE"],
  ["price>5", "price > 5"],
  ["price>=1.5;sold!=null", "price >= 1.5 AND sold IS NOT NULL"],
  ["title==a,price==null", "(title = 'a' OR price IS NULL)"],
  ["id=in=(1,2,3,5,8,13,21)", "x.id IN (1, 2, 3, 5, 8, 13, 21)"],
  ["id<0", "x.id < 0"],
];
const tagFilters: readonly Question["filter"][] = [["", "TRUE"], ["weight>0.5", "weight > 0.5"]];
const fieldsOf = { books: ["price", "sold", "id"], tags: ["weight", "id"] } as const;

function questions(relation: "books" | "tags"): fc.Arbitrary<Question> {
  const fields = fc.subarray([...fieldsOf[relation]], { minLength: 1 });
  const metric = fc.record({
    name: fc.constantFrom("count", "sum", "avg", "min", "max"),
    fields,
  });
  return fc.record({
    relation: fc.constant(relation),
    filter: fc.constantFrom(...relation === "books" ? bookFilters : tagFilters),
    metrics: fc.uniqueArray(metric, { minLength: 1, selector: ({ name }) => name })
      .map((list) => new Map(list.map((one) => [one.name, one.fields]))),
  });
}

function itemOf({ relation, filter: [rsql], metrics }: Question): string {
  const options = [...metrics].map(([name, fields]) =>
    name === "count" ? "count:true" : `${name}:${fields.join()}`
  );
  return `${relation}(${[...options, ...rsql === "" ? [] : [`filter:${rsql}`]].join(";")})`;
}

const scales: Record<string, number> = { price: 2, weight: 2 };

/** Returns the metrics of each parent, as plain SQL computes them. Decimals are added as cents. */
async function answers(
  { relation, filter: [, condition], metrics }: Question,
  user: string | null,
  db: Service["db"],
): Promise<ReadonlyMap<number, Record<string, unknown>>> {
  const owners = user === null ? "('all')" : `('all', '${user}')`;
  const rows = relation === "books"
    ? `books x WHERE x.deleted_at IS NULL AND x.owner IN ${owners}`
    : `(SELECT DISTINCT book_id, tag_id FROM book_tags WHERE gone = FALSE AND owner IN ${owners}) l
       JOIN tags x ON x.id = l.tag_id WHERE TRUE`;
  const fields = fieldsOf[relation];
  const cells = fields.flatMap((field) => {
    const whole = field in scales ? `CAST(round(x.${field} * 100) AS bigint)` : `x.${field}`;
    return ["sum", "count", "min", "max"].map((name) => `CAST(${name}(${whole}) AS TEXT)`);
  });
  const parent = relation === "books" ? "x.author_id" : "l.book_id";
  const text = `SELECT ${parent}, CAST(count(*) AS TEXT), ${cells.join(", ")} FROM ${rows}
    AND ${condition} AND ${parent} IS NOT NULL GROUP BY ${parent}`;
  const found = await db.driver.query({ text, values: [] });
  const isBig = (field: string) => field === "sold";
  return new Map(found.rows.map(([id, count, ...values]) => {
    const shown: Record<string, unknown> = {};
    if (metrics.has("count")) shown["count"] = Number(count);
    for (const name of ["sum", "avg", "min", "max"]) {
      for (const field of metrics.get(name) ?? []) {
        const at = 4 * fields.findIndex((one) => one === field);
        const [sum = null, times, min = null, max = null] = values.slice(at, at + 4);
        const cell = { sum, min, max, avg: sum }[name] ?? null;
        const isDecimal = field in scales;
        const value = cell === null
          ? null
          : name === "avg"
          ? isDecimal
            ? decimalOf(roundedQuotient(BigInt(String(cell)) * 10n ** 6n, BigInt(String(times))), 8)
            : Number(cell) / Number(times)
          : isDecimal
          ? decimalOf(BigInt(String(cell)), 2)
          : isBig(field)
          ? String(cell)
          : Number(cell);
        shown[name] = { ...Object(shown[name]), [field]: value };
      }
    }
    return [Number(id), shown];
  }));
}

function roundedQuotient(value: bigint, by: bigint): bigint {
  const [size, sign] = value < 0n ? [-value, -1n] : [value, 1n];
  return sign * ((2n * size + by) / (2n * by));
}

function decimalOf(units: bigint, scale: number): string {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, "0");
  return `${units < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function withoutRows({ metrics }: Question): Record<string, unknown> {
  return Object.fromEntries([...metrics].map(([name, fields]) => [
    name,
    name === "count" ? 0 : Object.fromEntries(fields.map((field) => [field, null])),
  ]));
}

async function fill(db: Service["db"]): Promise<void> {
  const [rows] = fc.sample(
    fc.record({
      books: fc.array(
        fc.record({
          authorId: fc.option(fc.integer({ min: 1, max: 9 }), { freq: 8 }),
          title: fc.option(fc.constantFrom("a", "b", "Ž")),
          price: fc.option(
            fc.integer({ min: -9_999, max: 99_999_999 }).map((cents) =>
              decimalOf(BigInt(cents), 2)
            ),
          ),
          pages: fc.option(fc.integer({ min: 1, max: 999 })),
          sold: fc.option(
            fc.bigInt({ min: -(2n ** 60n), max: 2n ** 60n }).map(String),
          ),
          secret: fc.constant(7),
          owner: fc.constantFrom("all", "ada", "bob"),
          deletedAt: fc.option(fc.constant("2024-01-01T00:00:00.000Z"), { freq: 2 }),
        }),
        { minLength: 60, maxLength: 60 },
      ),
      links: fc.array(
        fc.record({
          bookId: fc.integer({ min: 1, max: 70 }),
          tagId: fc.integer({ min: 1, max: 12 }),
          owner: fc.constantFrom("all", "ada", "bob"),
          gone: fc.boolean(),
        }),
        { minLength: 150, maxLength: 150 },
      ),
    }),
    { numRuns: 1, seed: 3 },
  );
  assert(rows !== undefined);
  const numbered = <T>(list: readonly T[]) => list.map((row, index) => ({ id: index + 1, ...row }));
  await insertRows(db, authors, numbered([..."abcdefghij"].map((name) => ({ name }))));
  await insertRows(db, books, numbered(rows.books));
  const weights = [null, "0.25", "0.50", "1.75", "-3.10"];
  await insertRows(
    db,
    tags,
    numbered(Array.from({ length: 10 }, (_, index) => ({
      weight: weights[index % weights.length],
    }))),
  );
  await insertRows(db, bookTags, numbered(rows.links));
}

testOnDialects(
  "metrics of related rows are those of plain SQL over the rows that the user may read",
  (engine) =>
    withService(engine, tables, served, async ({ db, get }) => {
      await fill(db);
      const question = fc.oneof(questions("books"), questions("tags"));
      let counted = 0;
      await fc.assert(
        fc.asyncProperty(
          question,
          fc.constantFrom(null, "ada", "bob"),
          fc.integer({ min: 1, max: 12 }),
          fc.boolean(),
          async (question, user, limit, hasRows) => {
            const path = question.relation === "books" ? "authors" : "books";
            const item = itemOf(question);
            const include = hasRows ? `${question.relation},${item}` : item;
            const query = `select=id&limit=${limit}&include=${encodeURIComponent(include)}`;
            const headers: Record<string, string> = user === null ? {} : { "x-user": user };
            const { status, body } = await get(`/api/${path}?${query}`, headers);
            assertEquals(status, 200, JSON.stringify(body));
            const expected = await answers(question, user, db);
            for (const { id, _aggregates, ...others } of body.items) {
              const wanted = expected.get(id) ?? withoutRows(question);
              assertEquals(_aggregates, { [question.relation]: wanted }, `${include} of ${id}`);
              assertEquals(Object.keys(others), hasRows ? [question.relation] : []);
              counted++;
            }
          },
        ),
        { numRuns: repeats(1_000) },
      );
      assert(counted > repeats(1_000));
    }),
);

testOnDialects(
  "metrics are one statement for a page, nest, and are refused as an aggregate refuses them",
  (engine) =>
    withService(engine, tables, served, async ({ db, get, app }) => {
      await fill(db);
      const statements = watchStatements(db);
      const include =
        "books(count:true;filter:price>1),books(limit:1;select:id;include:tags(count:true))";
      const { body } = await get(`/api/authors?select=id&limit=9&include=${include}`);
      assertEquals(statements.length, 4, "the page, its books, and two statements for metrics");
      for (const { _aggregates, books } of body.items) {
        assertEquals(Object.keys(_aggregates), ["books"]);
        for (const book of books) assertEquals(Object.keys(book), ["id", "_aggregates"]);
      }
      const one = (await get("/api/authors/1?include=books(max:id)")).body;
      assertEquals(typeof one._aggregates.books.max.id, "number");

      const ada = { "x-user": "ada" };
      assertEquals((await get("/api/authors?include=books(sum:pages)", ada)).status, 200);
      for (const field of ["pages", "secret", "prise"]) {
        const included = (await get(`/api/authors?include=books(sum:${field})`)).body;
        const aggregated = (await get(`/api/books/aggregate?sum=${field}`)).body;
        assertEquals([included.status, included.detail], [400, aggregated.detail]);
      }
      const refused: readonly (readonly [include: string, words: string])[] = [
        ["books(sum:prise)", 'Did you mean "price"?'],
        ["books(count)", "count:true"],
        ["books(count:1)", "must be true or false"],
        ["books(total:price)", "sum:"],
        ["books(sum:price;limit:2)", "sum and limit are in the same parentheses"],
        ["books(count:true;include:tags)", "count and include are in the same parentheses"],
        ["books(count:true),books(sum:id)", "it has options already"],
        ["books(sum:title)", "not a field for that"],
      ];
      for (const [include, words] of refused) {
        const { status, body } = await get(`/api/authors?include=${include}`);
        assertEquals([status, body.code], [400, "INVALID_PARAMETER"], include);
        assertStringIncludes(body.detail, words);
      }
      const toOne = (await get("/api/books?include=author(count:true)")).body;
      assertStringIncludes(toOne.detail, "leads to one row");
      const filter = (await get("/api/authors?include=books(count:true;filter:pages==1)")).body;
      assertEquals([filter.code, filter.details.include], ["FILTER_PARSE_ERROR", "books"]);

      const api = createClient<Api>({
        baseUrl: "http://test",
        fetch: (request) => app.fetch(request),
      });
      const typed = await api.authors.list({
        select: ["id"],
        include: ["books(sum:price,sold;count:true)", "books(limit:1)"],
        limit: 1,
      });
      const [author] = typed.items;
      assert(author !== undefined);
      const count: number = author._aggregates.books.count;
      const sum: string | null = author._aggregates.books.sum.price;
      // @ts-expect-error -- only the requested metrics are members
      assertEquals(author._aggregates.books.avg, undefined);
      assertEquals(count > 0 && typeof sum === "string" && author.books.length, 1);
    }),
);

testOnPostgres("metrics that overflow are 400 in an include and in an aggregate", async (url) => {
  const db = await openDatabase(url);
  const [parents, values] = [
    table("parents", { id: integer().primaryKey() }),
    table("parts", { id: integer().primaryKey(), parent: integer(), size: real() }),
  ];
  await db.createTables([parents, values]);
  await insertRows(db, parents, [{ id: 1 }]);
  await insertRows(db, values, [1, 2].map((id) => ({ id, parent: 1, size: 1.7e308 })));
  const app = await createApp({
    db,
    resources: [
      resource(parents, {
        id: parents.id,
        auth: open,
        relations: { parts: { type: "hasMany", resource: values, foreignKey: values.parent } },
      }),
      resource(values, { id: values.id, auth: open }),
    ],
  });
  for (const path of ["parents?include=parts(sum:size)", "parts/aggregate?sum=size"]) {
    const response = await app.fetch(new Request(`http://test/api/${path}`));
    assertEquals(response.status, 400, await response.text());
  }
  await app.close();
  await db.close();
});
