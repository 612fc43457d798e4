import { assertEquals } from "@std/assert";
import { all, integer, resource, table, text } from "../../mod.ts";
import { type Engine, engines } from "../support/engines.ts";
import { insertRows, type Service, testOnDialects, withService } from "../support/http.ts";

const authors = table("authors", {
  id: integer().primaryKey(),
  country: text(),
  email: text(),
});
const books = table("books", {
  id: integer().primaryKey(),
  title: text().notNull(),
  authorId: integer().notNull().as("author_id"),
  pages: integer(),
  margin: integer(),
  titled: text(),
});

function withBooks(
  engine: Engine,
  work: (service: Service) => Promise<void>,
  options: object = {},
): Promise<void> {
  return withService(engine, [authors, books], () => ({
    resources: [
      resource(authors, {
        id: authors.id,
        auth: { public: true },
        fields: { readable: [authors.id, authors.country] },
      }),
      resource(books, {
        id: books.id,
        auth: { public: true, update: () => all(), delete: () => all() },
        capabilities: { enableExport: true },
        fields: {
          readable: [books.id, books.title, books.authorId, books.pages],
          filterable: [books.id, books.title, books.pages, books.margin],
          sortable: [books.id, books.title, books.pages, books.margin],
        },
        computed: { headline: ({ title }) => `${title}!` },
        relations: {
          author: {
            type: "belongsTo",
            resource: authors,
            foreignKey: books.authorId,
            filterable: true,
          },
        },
        ...options,
      }),
    ],
  }), async (service) => {
    await insertRows(service.db, authors, [{ id: 1, country: "pl", email: "xyzzy-e" }]);
    const titled = "xyzzy-t";
    await insertRows(service.db, books, [{ id: 1, title: "a", authorId: 1, pages: 9, titled }]);
    await work(service);
  });
}

const selected = (name: string, right: string) =>
  `Cannot select "${name}": there is no field of this name. Did you mean "${right}"?`;
const ordered = (name: string) => `Cannot order by "${name}": it is not a sortable field`;
const filtered = (name: string, at = 0) =>
  `Cannot filter by "${name}" at ${at}: there is no field of this name to filter by`;
const usedIn = (name: string, parameter: string) =>
  `Cannot use "${name}" in ${parameter}: it is not a field for that`;
const meant = (right: string) => `. Did you mean "${right}"?`;

const refusals: readonly (readonly [path: string, detail: string])[] = [
  ["?select=titel", selected("titel", "title")],
  ["?select=id,Title", selected("Title", "title")],
  ["?select=id,author_id", selected("author_id", "authorId")],
  ["?select=headlin", selected("headlin", "headline")],
  ["/1?select=pagse", selected("pagse", "pages")],
  ["/subscribe?select=titel", selected("titel", "title")],
  ["?include=author(select:contry)", selected("contry", "country")],
  ["?include=autor", `Cannot include "autor": there is no relation of this name${meant("author")}`],
  ["?orderBy=titel", ordered("titel") + meant("title")],
  [
    "?orderBy=author(country)",
    `${ordered("author(country)")}. Write a field of a related row as relation.field`,
  ],
  ["?orderBy=-pges", ordered("pges") + meant("pages")],
  ["?include=author(orderBy:contry)", ordered("contry") + meant("country")],
  ["?filter=id>0;titel==a", filtered("titel", 5) + meant("title")],
  ["/count?filter=pags>1", filtered("pags") + meant("pages")],
  ["?filter=author.contry==pl", filtered("author.contry") + meant("author.country")],
  ["?filter=autor.country==pl", filtered("autor.country") + meant("author.country")],
  ["/subscribe?filter=titel==a", filtered("titel") + meant("title")],
  ["/aggregate?groupBy=titel", usedIn("titel", "groupBy") + meant("title")],
  ["/aggregate?sum=page", usedIn("page", "sum") + meant("pages")],
  ["/aggregate?sum=pages&having=sum_page>1", filtered("sum_page") + meant("sum_pages")],
  ["/aggregate?groupBy=pages&orderBy=pags", ordered("pags") + meant("pages")],
  // May be used, but is not readable, so no message names it.
  ["?orderBy=margn", ordered("margn")],
  ["?filter=margn==1", filtered("margn")],
  ["/aggregate?max=margn", usedIn("margn", "max")],
  ["?filter=author.emial==x", filtered("author.emial")],
  // A hidden name is treated like an unknown one that is as near.
  ["?select=titled", selected("titled", "title")],
  ["?select=titlex", selected("titlex", "title")],
];

testOnDialects(
  "an unknown name in a query was ignored in select, and elsewhere refused without the right one",
  (engine) =>
    withBooks(engine, async ({ get, send }) => {
      for (const [path, expected] of refusals) {
        const { status, body } = await get(`/api/books${path}`);
        const detail = body.detail?.replace(/^In the filter of include \w+: /, "");
        assertEquals([path, status, detail], [path, 400, expected]);
      }
      const user = { "x-user": "ada" };
      const batch = await send("DELETE", "/api/books/batch", { filter: "titel==a" }, user);
      assertEquals([batch.status, batch.body.detail], [400, filtered("titel") + meant("title")]);
      const csv = await get("/api/books?select=titel", { accept: "text/csv" });
      assertEquals([csv.status, csv.body.detail], [400, selected("titel", "title")]);
    }),
);

const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

const plain = "there is no field of this name";
const converted = "select cannot rename or convert a field";
const related = "fields of related rows are in include: write include=author(select:…)";

Deno.test("select refuses what is no field, hidden names too, and says what to write", () =>
  withBooks(sqlite, async ({ get }) => {
    const advice: readonly (readonly [item: string, advice: string])[] = [
      ...["margin", "nothing", "constructor", "x".repeat(3_000)].map((name) =>
        [name, plain] as const
      ),
      ["*", "omit select to get every field"],
      ["author", "this is a relation: write include=author"],
      ...["authors(id)", "author(id", "author.id", "...author(id)", "by:authors(id)"].map((item) =>
        [item, related] as const
      ),
      ["author!inner(id)", related],
      ["title:name", converted],
      ["pages::text", converted],
      ["title->a", "write a path into a document with dots: field.name"],
      ["(id)", plain],
      ['"author"(id)', related],
      ["writer(id)", related.replace("author", "relation")],
      ["pages.sum()", "aggregates are at /aggregate: write for example ?sum=amount"],
    ];
    for (const [item, expected] of advice) {
      for (const path of ["?", "/1?", "/subscribe?"]) {
        const answer = await get(`/api/books${path}select=id,${encodeURIComponent(item)}`);
        const { status, body } = answer;
        assertEquals([item, status, body.detail], [
          item,
          400,
          `Cannot select ${JSON.stringify(item.slice(0, 20))}: ${expected}`,
        ]);
      }
    }
    for (const item of ["", "headline", "author&include=author(select:id)"]) {
      const [{ id, headline }] = (await get(`/api/books?select=id,${item}`)).body.items;
      assertEquals([id, headline], [1, "a!"], item);
    }
  }));

Deno.test("strictQuery: false takes back that select refuses unknown names", () =>
  withBooks(sqlite, async ({ get }) => {
    const { body } = await get("/api/books?select=id,titel,author(id)");
    assertEquals(body.items, [{ id: 1, headline: "a!" }]);
    // What is wrong wherever it is near stays a refusal.
    assertEquals((await get("/api/books?orderBy=titel")).status, 400);
  }, { strictQuery: false }));

const accounts = table("accounts", {
  id: integer().primaryKey(),
  title: text(),
  ownerId: text().as("owner_id"),
  password: text(),
  balance: integer(),
});

const misspelt = (path: string, right?: string) => ({
  path,
  message: `is not a field${right === undefined ? "" : meant(right)}`,
});

Deno.test("an unknown field of a body is refused with the nearest field that may be written", () => {
  const auth = { create: () => all(), update: () => all() };
  const { id, title, ownerId, password } = accounts;
  const fields = {
    readable: [id, title, ownerId, accounts.balance],
    writable: [id, title, ownerId, password],
    immutable: [ownerId],
  };
  const resources = [resource(accounts, { id, auth, fields, strictInput: true })];
  return withService(sqlite, [accounts], () => ({ resources }), async ({ send }) => {
    const refused = async (method: string, path: string, body: unknown) => {
      const answer = await send(method, `/api/accounts${path}`, body, { "x-user": "ada" });
      assertEquals(answer.status, 422);
      const { detail, details: { errors } } = answer.body;
      assertEquals(detail, `Cannot use this body: ${errors[0].path} ${errors[0].message}`);
      return errors;
    };
    assertEquals(await refused("POST", "", { titel: "t", owner_id: "a", nothing: 1 }), [
      misspelt("titel", "title"),
      misspelt("owner_id", "ownerId"),
      misspelt("nothing"),
    ]);
    // No message names what is only written, only read, or not to be changed.
    const none = [misspelt("pasword"), misspelt("balence")];
    assertEquals(await refused("POST", "", { pasword: "t", balence: 1 }), none);
    assertEquals(await refused("PATCH", "/1", { pasword: "t", balence: 1 }), none);
    assertEquals(await refused("PATCH", "/1", { ownrId: "a" }), [misspelt("ownrId")]);
    assertEquals(await refused("PUT", "/1", { titel: "t" }), [misspelt("titel", "title")]);
    for (const path of ["/batch", "/batch/upsert"]) {
      assertEquals(await refused("POST", path, { items: [{ id: 1, tilte: "t" }] }), [
        misspelt("items.0.tilte", "title"),
      ]);
    }
    assertEquals(await refused("PATCH", "/batch", { filter: "id>0", patch: { titel: "t" } }), [
      misspelt("patch.titel", "title"),
    ]);
    const many = Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => [`title${at % 9}${at}`, 1]),
    );
    assertEquals((await refused("POST", "", many)).length, 100);
  });
});
