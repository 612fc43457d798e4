import {
  all,
  type App,
  boolean,
  createApp,
  type Database,
  date,
  decimal,
  eq,
  integer,
  json,
  openDatabase,
  policy,
  resource,
  table,
  text,
  timestamp,
  type User,
} from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { fallibleSearch } from "../http/search_support.ts";

const authors = table("authors", {
  id: integer().primaryKey(),
  name: text().notNull().unique(),
  country: text({ maxLength: 60 }),
  born: date(),
  seenAt: timestamp().as("seen_at"),
});

const books = table("books", {
  id: integer().primaryKey(),
  title: text().notNull(),
  authorId: integer().notNull().references(() => authors.id).as("author_id"),
  genre: text({ enum: ["essay", "novel", "poems"] }).notNull().default("novel"),
  price: decimal({ precision: 10, scale: 2 }),
  inPrint: boolean().notNull().default(true).as("in_print"),
  facts: json(),
  note: text(),
  owner: text(),
  deletedAt: timestamp().as("deleted_at"),
  version: integer().notNull().default(1),
});

const numbers = table("numbers", {
  id: integer().primaryKey(),
  square: integer().notNull(),
  parity: text().notNull(),
});

/** The service that the tests look at. */
export interface DashboardApp {
  readonly app: App;
  readonly db: Database;
  /** Its search, which can be out of service. */
  readonly search: { isDown: boolean };
}

/** Opens the service over a small database: ada may see her own books. */
export async function openDashboardApp(numberOfRows: number): Promise<DashboardApp> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([authors, books, numbers]);
  await fill(db, numberOfRows);
  const search = fallibleSearch();
  const app = await createApp({
    db,
    kv: ":memory:",
    secret: "a secret for the tests only",
    runtime: systemRuntime(() => {}),
    adminUI: { requestLog: { slowStatementMs: 1 } },
    observability: true,
    search: search.adapter,
    // A failed write is dead at once, and sent when a test asks for it.
    searchOutbox: { intervalMs: 3_600_000, maxAttempts: 1 },
    auth: { middleware: async (_context, next) => await next() },
    resources: [
      resource(authors, { id: authors.id, auth: { public: { read: true } } }),
      resource(books, {
        id: books.id,
        etag: { versionField: books.version },
        history: {},
        softDelete: { field: books.deletedAt },
        search: { fields: { title: {} }, outbox: true },
        auth: {
          read: policy(books, "own books", (user: User) => eq(books.owner, user.id)),
          subscribe: (user) => eq(books.owner, user.id),
          update: () => all(),
        },
      }),
      resource(numbers, { id: numbers.id, auth: { public: { read: true, subscribe: true } } }),
    ],
  });
  return { app, db, search };
}

/** Markup that would do something if it were shown as markup. */
export const hostile = `<img src=x onerror="document.title='broken'"><script>alert(1)</script>`;

async function fill(db: Database, numberOfRows: number): Promise<void> {
  await db.sql`INSERT INTO authors (id, name, country) VALUES
    (1, 'Ursula K. Le Guin', 'USA'), (2, 'Wisława Szymborska', 'Poland'), (3, ${hostile}, NULL)`;
  await db.sql`INSERT INTO books
    (id, title, author_id, genre, price, in_print, facts, note, owner) VALUES
    (1, 'The Dispossessed', 1, 'novel', '9.50', 1, '{"pages":341}', NULL, 'ada'),
    (2, 'View with a Grain of Sand', 2, 'poems', '12.00', 1, NULL, '', 'ada'),
    (3, ${hostile}, 3, 'essay', NULL, 0, '{"a":"<b>"}', ${"x<i>".repeat(250_000)}, 'bob'),
    (4, '=1+1', 1, 'essay', '-5.00', 1, '[1,2,3]', '@sum', 'bob')`;
  await db
    .sql`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${numberOfRows})
    INSERT INTO numbers (id, square, parity) SELECT i, i * i, iif(i % 2, 'odd', 'even') FROM n`;
}
