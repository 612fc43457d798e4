import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { all, integer, none, resource, table, text } from "../../../../mod.ts";
import { rsql } from "../../../../exports/client.ts";
import { testOnEveryEngine } from "../../../support/http.ts";
import { withDashboard } from "./dashboard_service.ts";

const authors = table("authors", { id: integer().primaryKey(), name: text().notNull() });
const books = table("books", {
  id: integer().primaryKey(),
  title: text().notNull(),
  authorId: integer().references(() => authors.id),
  hidden: text(),
});

testOnEveryEngine(
  "a list is explained as it would be read",
  (engine) =>
    withDashboard(engine, [authors, books], () => ({
      resources: [
        resource(authors, { id: authors.id, auth: { read: () => none() } }),
        resource(books, {
          id: books.id,
          path: "shelf/books",
          auth: { read: () => all() },
          fields: { readable: [books.id, books.title, books.authorId] },
          relations: {
            author: {
              type: "belongsTo",
              resource: authors,
              foreignKey: books.authorId,
              filterable: true,
            },
          },
        }),
      ],
    }), async ({ action }) => {
      const filter = "title==Emma;author.name=istartswith=jane";
      const given = { resource: "shelf/books", filter, orderBy: "-title" };
      const { status, body } = await action("explain", given);
      assertEquals(status, 200, body.detail);
      assertStringIncludes(body.sql, "SELECT");
      assertStringIncludes(body.sql, "authors");
      for (const value of ["Emma", "jane"]) assert(!body.sql.includes(value));
      assert(body.parameters >= 2);
      assert(body.plan.length > 0);
      assertStringIncludes(body.plan.join("\n"), "books");
      assertEquals((await action("explain", { resource: "books" })).status, 200);

      // The planner of Postgres has them as constants.
      const secret = `it's "Q4711\nFilter: (cost=4711..4711) \\'`;
      const text = rsql`title==${secret};id>${4711};authorId=in=(4711,-4711)`;
      const masked = await action("explain", { ...given, filter: String(text), limit: 7 });
      assertEquals(masked.status, 200, masked.body.detail);
      assert(!JSON.stringify(masked.body).includes("4711"), JSON.stringify(masked.body));
      assert(JSON.stringify(masked.body.plan).includes("?"), masked.body.plan.join("\n"));
      assertStringIncludes(masked.body.sql, "LIMIT 8");

      const wrong = await action("explain", { ...given, filter: "title=" });
      assertEquals([wrong.status, wrong.body.code], [400, "FILTER_PARSE_ERROR"]);
      for (
        const body of [{}, { resource: "none" }, { ...given, filter: 7 }, { ...given, limit: 0 }, {
          ...given,
          limit: "a",
        }, {
          ...given,
          orderBy: "x",
        }]
      ) assertEquals((await action("explain", body)).status, 400, JSON.stringify(body));
      // Hidden columns are none.
      assertEquals((await action("explain", { ...given, filter: "hidden==x" })).status, 400);
    }),
);
