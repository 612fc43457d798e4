import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  all,
  bigint,
  boolean,
  decimal,
  integer,
  json,
  resource,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import { type Service, testOnEngines, testOnEveryEngine, withService } from "../support/http.ts";
import type { Engine } from "../support/engines.ts";

const books = table("books", {
  id: integer().primaryKey(),
  title: text().notNull(),
  authorName: text().as("author_name"),
  pages: integer(),
  price: decimal({ precision: 8, scale: 2 }),
  inPrint: boolean().notNull().default(true).as("in_print"),
  shelf: text({ enum: ["novel", "poetry"] }),
  publishedAt: timestamp().as("published_at"),
  isbn: text().unique(),
  serial: bigint(),
  extra: json(),
});

const open = {
  public: true,
  create: () => all(),
  update: () => all(),
  delete: () => all(),
} as const;

const asAda = { "x-user": "ada" };

function withBooks(engine: Engine, work: (service: Service) => Promise<void>): Promise<void> {
  return withService(engine, [books], () => ({
    resources: [resource(books, { id: books.id, auth: open })],
  }), work);
}

testOnEveryEngine(
  "a row is created, read, changed, replaced and deleted",
  (engine) =>
    withBooks(engine, async ({ get, send }) => {
      const created = await send("POST", "/api/books", { title: "Middlemarch", pages: 880 }, asAda);
      assertEquals(created.status, 201);
      const { id } = created.body;
      assertEquals(created.headers.get("location"), `/api/books/${id}`);
      assertEquals(created.body, {
        id,
        title: "Middlemarch",
        authorName: null,
        pages: 880,
        price: null,
        inPrint: true,
        shelf: null,
        publishedAt: null,
        isbn: null,
        serial: null,
        extra: null,
      });

      const changed = await send("PATCH", `/api/books/${id}`, {
        authorName: "George Eliot",
        price: 12.5,
        publishedAt: "1871-12-01T10:00:00+01:00",
        serial: "9007199254740993",
        extra: { editions: [1, 2] },
      }, asAda);
      assertEquals(changed.status, 200);
      assertEquals(changed.body.price, "12.50");
      assertEquals(changed.body.publishedAt, "1871-12-01T09:00:00.000Z");
      assertEquals((await get(`/api/books/${id}`)).body, changed.body);
      assertEquals(changed.body.serial, "9007199254740993");
      assertEquals(changed.body.extra, { editions: [1, 2] });

      const replaced = await send(
        "PUT",
        `/api/books/${id}`,
        { title: "Romola", inPrint: false },
        asAda,
      );
      assertEquals(replaced.status, 200);
      assertEquals(replaced.body, {
        ...created.body,
        title: "Romola",
        pages: null,
        inPrint: false,
      });
      const reset = await send("PUT", `/api/books/${id}`, { title: "Romola" }, asAda);
      assertEquals(reset.body.inPrint, true);

      const removed = await send("DELETE", `/api/books/${id}`, undefined, asAda);
      assertEquals([removed.status, removed.body], [204, ""]);
      assertEquals((await send("DELETE", `/api/books/${id}`, undefined, asAda)).status, 404);
      const missing = await get(`/api/books/${id}`);
      assertEquals(missing.status, 404);
      assertEquals(missing.body.type, "/__service/problems/not-found");
      assertEquals(missing.body.code, "NOT_FOUND");
      assertMatch(missing.body.detail, new RegExp(`id ${id} in books`));
    }),
);

testOnEngines(
  "an empty PATCH changes nothing and answers with the row",
  (engine) =>
    withBooks(engine, async ({ send }) => {
      const { body } = await send("POST", "/api/books", { id: 7, title: "Emma" }, asAda);
      const patched = await send("PATCH", "/api/books/7", {}, asAda);
      assertEquals([patched.status, patched.body], [200, body]);
      assertEquals((await send("PATCH", "/api/books/8", {}, asAda)).status, 404);
    }),
);

testOnEngines(
  "a body names every fault with its path",
  (engine) =>
    withBooks(engine, async ({ send }) => {
      const answer = await send("POST", "/api/books", {
        pages: "12abc",
        price: "1.234",
        inPrint: "yes",
        shelf: "cookbook",
        publishedAt: "2024-02-30",
        serial: 1.5,
      }, asAda);
      assertEquals(answer.status, 422);
      assertEquals(answer.body.code, "VALIDATION_ERROR");
      const paths = answer.body.details.errors.map((error: { path: string }) => error.path);
      assertEquals(paths.sort(), ["inPrint", "pages", "price", "publishedAt", "serial", "shelf"]);
      const required = await send("POST", "/api/books", {}, asAda);
      assertEquals(required.body.details.errors, [{ path: "title", message: "is required" }]);
      const nulled = await send("POST", "/api/books", { title: null }, asAda);
      assertEquals(nulled.body.details.errors, [{ path: "title", message: "must not be null" }]);
    }),
);

testOnEngines(
  "an update never re-keys a row",
  (engine) =>
    withBooks(engine, async ({ get, send }) => {
      await send("POST", "/api/books", { id: 1, title: "Emma" }, asAda);
      const moved = await send("PATCH", "/api/books/1", { id: 2, title: "x" }, asAda);
      assertEquals(moved.status, 422);
      const same = await send("PUT", "/api/books/1", { id: 1, title: "Persuasion" }, asAda);
      assertEquals(same.body.title, "Persuasion");
      assertEquals((await get("/api/books/2")).status, 404);
    }),
);

testOnEveryEngine(
  "a taken value is a conflict and a missing one a fault, without SQL in the answer",
  (engine) =>
    withBooks(engine, async ({ send }) => {
      await send("POST", "/api/books", { id: 1, title: "Emma", isbn: "isbn-1" }, asAda);
      for (const body of [{ id: 1, title: "again" }, { id: 2, title: "again", isbn: "isbn-1" }]) {
        const answer = await send("POST", "/api/books", body, asAda);
        assertEquals([answer.status, answer.body.code], [409, "CONFLICT"]);
        assert(!/unique|constraint|sqlite|books_|isbn-1/i.test(JSON.stringify(answer.body)));
      }
    }),
);

testOnEveryEngine(
  "integers beyond 2^53 keep their digits, in and out",
  (engine) =>
    withBooks(engine, async ({ db, send }) => {
      await send("POST", "/api/books", `{"id":1,"title":"t","pages":9007199254740993}`, asAda);
      const { rows } = await db.driver.query({
        text: `SELECT pages FROM books WHERE pages = 9007199254740993`,
        values: [],
      });
      assertEquals(rows.length, 1);
      const service = await import("../../src/app/app.ts");
      const app = await service.createApp({
        db,
        secret: "a secret for the tests only",
        resources: [resource(books, { id: books.id, auth: { public: { read: true } } })],
      });
      const found = await app.fetch(
        new Request("http://test/api/books?filter=pages==9007199254740993"),
      );
      assertMatch(await found.text(), /"pages":9007199254740993[,}]/);
      const over = await send(
        "POST",
        "/api/books",
        `{"title":"t","pages":9223372036854775808}`,
        asAda,
      );
      assertEquals(over.status, 422);
    }),
);

testOnEngines(
  "a create says where the row is, unless its key is withheld",
  (engine) =>
    withService(engine, [books], () => ({
      resources: [
        resource(books, {
          id: books.id,
          auth: { ...open, public: false },
          fields: { readable: (user) => user?.id === "ada" ? [books.id] : [books.title] },
        }),
      ],
    }), async ({ send }) => {
      const answers = [
        await send("POST", "/api/books", { title: "x" }, asAda),
        await send("POST", "/api/books", { title: "y" }, { "x-user": "eve" }),
      ];
      assertEquals(answers.map(({ status }) => status), [201, 201]);
      assertEquals(answers.map(({ headers }) => headers.get("location")), ["/api/books/1", null]);
    }),
);

testOnEngines(
  "a disabled capability is 405 where the path has other methods, else 404",
  (engine) =>
    withService(engine, [books], () => ({
      resources: [
        resource(books, {
          id: books.id,
          auth: open,
          capabilities: {
            ...{ enableCreate: false, enableUpdate: false, enableDelete: false },
            enableAggregations: false,
          },
        }),
      ],
    }), async ({ get, send }) => {
      const post = await send("POST", "/api/books", { title: "x" }, asAda);
      assertEquals([post.status, post.headers.get("allow")], [405, "GET, HEAD"]);
      for (const method of ["PATCH", "PUT", "DELETE"]) {
        assertEquals((await send(method, "/api/books/1", {}, asAda)).status, 405);
      }
      assertEquals((await send("POST", "/api/books/count", {}, asAda)).status, 405);
      for (const word of ["aggregate", "batch", "import", "rpc", "search"]) {
        assertEquals((await get(`/api/books/${word}`)).status, 404);
      }
      assertEquals((await get("/api/books/1/2")).status, 404);
      assertEquals((await get("/api/nothing")).status, 404);
    }),
);

testOnEngines(
  "HEAD mirrors GET, and a slash at the end of a path changes nothing",
  (engine) =>
    withBooks(engine, async ({ get, send }) => {
      await send("POST", "/api/books", { id: 1, title: "Emma" }, asAda);
      for (
        const path of [
          "/api/books",
          "/api/books/",
          "/api/books/1",
          "/api/books/1/",
          "/api/books/count/",
        ]
      ) {
        const [head, body] = [await send("HEAD", path), await get(path)];
        assertEquals([head.status, head.body], [body.status, ""]);
        // The listener adds the length of a GET.
        const counted = [...head.headers].filter(([name]) => name !== "content-length");
        assertEquals(counted, [...body.headers]);
      }
    }),
);
