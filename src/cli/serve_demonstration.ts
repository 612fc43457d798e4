import { openDatabase } from "../engines/open_database.ts";
import { resource } from "../resource/define/resource_definition.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { boolean, date, integer, real, text } from "../schema/column_builder.ts";
import { table } from "../schema/table.ts";
import { tableInfoOf, type TableLike } from "../schema/table_like.ts";
import { databaseSearch } from "../engines/database_search.ts";
import { identifier, join, sql, toStatement } from "../sql/fragment.ts";
import { dnsRebindingGuard } from "./dns_rebinding_guard.ts";
import { type CliRights, type CliService, resourceOptionsFor, tokenAuth } from "./cli_service.ts";
import type { Database } from "../db/database.ts";

export async function serveDemonstration(rights: CliRights, runtime: Runtime): Promise<CliService> {
  const db = await openDatabase("node-sqlite::memory:", { observe: runtime.observe });
  await db.createTables([authors, books, members, loans]);
  await insertRows(db, authors, authorRows);
  await insertRows(db, books, bookRows);
  await insertRows(db, members, memberRows);
  await insertRows(db, loans, loanRows);
  const granted = resourceOptionsFor(rights);
  return {
    config: {
      db,
      runtime,
      // Prevents the warning about a missing secret.
      secret: runtime.random.bytes(32).toBase64(),
      auth: tokenAuth(rights),
      middleware: dnsRebindingGuard(rights),
      search: databaseSearch(),
      resources: [
        resource(books, { ...granted, id: books.id, etag: { versionField: books.version } }),
        resource(authors, { ...granted, id: authors.id }),
        resource(members, { ...granted, id: members.id }),
        resource(loans, { ...granted, id: loans.id }),
      ],
    },
    subject: "a demonstration, the shelves of a reading club, in memory until it stops",
    rights,
    exampleQuery: "?filter=pages<300;inPrint==true&orderBy=-rating&limit=3",
  };
}

const authors = table("authors", {
  id: integer().primaryKey(),
  name: text({ maxLength: 100 }).notNull().unique(),
  born: date(),
  country: text(),
});

const books = table("books", {
  id: integer().primaryKey(),
  authorId: integer().notNull().as("author_id").references(() => authors.id),
  title: text({ maxLength: 200 }).notNull(),
  published: integer().notNull(),
  pages: integer().notNull(),
  rating: real(),
  inPrint: boolean().notNull().default(true).as("in_print"),
  version: integer().notNull().default(1),
});

const members = table("members", {
  id: integer().primaryKey(),
  name: text({ maxLength: 100 }).notNull(),
  joinedOn: date().notNull().as("joined_on"),
});

const loans = table("loans", {
  id: integer().primaryKey(),
  bookId: integer().notNull().as("book_id").references(() => books.id),
  memberId: integer().notNull().as("member_id").references(() => members.id),
  takenOn: date().notNull().as("taken_on"),
  returnedOn: date().as("returned_on"),
  note: text(),
});

/** Values in column order. Missing values at the end of a row are defaults. */
type Rows = readonly (readonly unknown[])[];

const authorRows: Rows = [
  [1, "Ursula K. Le Guin", "1929-10-21", "United States"],
  [2, "Jorge Luis Borges", "1899-08-24", "Argentina"],
  [3, "Tove Jansson", "1914-08-09", "Finland"],
  [4, "Stanisław Lem", "1921-09-12", "Poland"],
  [5, "Murasaki Shikibu", null, "Japan"],
  [6, "Chinua Achebe", "1930-11-16", "Nigeria"],
];

const bookRows: Rows = [
  [1, 1, "The Left Hand of Darkness", 1969, 304, 4.1, true],
  [2, 1, "The Dispossessed", 1974, 387, 4.3, true],
  [3, 1, "A Wizard of Earthsea", 1968, 205, 4, true],
  [4, 2, "Ficciones", 1944, 174, 4.4, true],
  [5, 2, "El Aleph", 1949, 146, 4.4, true],
  [6, 3, "The Summer Book", 1972, 170, 4.1, true],
  [7, 3, "Moominland Midwinter", 1957, 165, 4.3, true],
  [8, 3, "Sun City", 1974, 197, null, false],
  [9, 4, "Solaris", 1961, 204, 4, true],
  [10, 4, "The Cyberiad", 1965, 295, 4.2, true],
  [11, 5, "The Tale of Genji", 1021, 1216, 3.7, true],
  [12, 6, "Things Fall Apart", 1958, 209, 3.7, true],
];

const memberRows: Rows = [
  [1, "Ada", "2023-01-14"],
  [2, "Björn", "2023-01-14"],
  [3, "Chloé", "2024-05-02"],
  [4, "Dmitri", "2025-09-30"],
];

const loanRows: Rows = [
  [1, 9, 1, "2025-01-10", "2025-01-31", "Read it in two evenings."],
  [2, 4, 2, "2025-02-03", "2025-03-01", null],
  [3, 11, 3, "2025-02-14", null, "A long one."],
  [4, 7, 4, "2025-10-05", "2025-10-19", "100% recommended"],
  [5, 1, 1, "2025-11-01", null, null],
  [6, 9, 3, "2025-11-08", null, "Ada said so."],
];

async function insertRows(
  db: Database,
  into: TableLike<unknown, unknown>,
  rows: Rows,
): Promise<void> {
  const { name, columns: all } = tableInfoOf(into);
  const columns = all.slice(0, rows[0]?.length);
  const { dialect } = db.driver;
  const names = join(columns.map((column) => identifier(column.dbName)), ", ");
  const tuples = rows.map((row) => {
    const values = columns.map((column, index) => {
      const value = row[index] ?? null;
      return sql`${value === null ? null : dialect.encode(value, column)}`;
    });
    return sql`(${join(values, ", ")})`;
  });
  const insert = sql`INSERT INTO ${identifier(name)} (${names}) VALUES ${join(tuples, ", ")}`;
  await db.driver.query(toStatement(insert, dialect.placeholder));
}
