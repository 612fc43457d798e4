/** The tables that the attacks need, and the service's resources over them. */
import {
  all,
  type Database,
  integer,
  resource,
  type ResourceDefinition,
  table,
  text,
} from "../../mod.ts";

/** Small rows that other clients read by key. */
const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

const authors = table("authors", { id: integer().primaryKey(), name: text().notNull() });

/** Rows of one author. */
const posts = table("posts", {
  id: integer().primaryKey(),
  authorId: integer().notNull().as("author_id"),
  title: text().notNull(),
});

/** Rows of one author: 2 MB in total, and few enough that each row may include all of them. */
const essays = table("essays", {
  id: integer().primaryKey(),
  authorId: integer().notNull().as("author_id"),
  body: text().notNull(),
});

/** Rows of one megabyte each. */
const books = table("books", { id: integer().primaryKey(), body: text().notNull() });

/** Rows of 10 MB in total. Each matches the beginning of any pattern of the letter a. */
const articles = table("articles", { id: integer().primaryKey(), body: text().notNull() });

/** Rows of 40 MB in total, with different bodies. */
const documents = table("documents", {
  id: integer().primaryKey(),
  n: integer().notNull(),
  body: text().notNull(),
});

/** Rows that a signed-in user writes. */
const uploads = table("uploads", { id: integer().primaryKey(), body: text().notNull() });

/** The table of 5,000,000 rows for `scan_bench.ts`. */
const readings = table("readings", {
  id: integer().primaryKey(),
  n: integer().notNull(),
  label: text().notNull(),
});

/** The set of tables: those of the attacks, or the large table. */
export type Content = "attacks" | "scans";

/** The resources: anonymous clients may read, and a signed-in user may write. */
export function resourcesOf(content: Content): readonly ResourceDefinition[] {
  const note = resource(notes, {
    id: notes.id,
    auth: { public: { read: true }, update: () => all() },
  });
  if (content === "scans") {
    return [note, resource(readings, { id: readings.id, auth: { public: { read: true } } })];
  }
  return [
    note,
    resource(notes, {
      id: notes.id,
      path: "gated",
      auth: { public: { read: true } },
      pow: { operations: ["read"], difficulty: 4 },
    }),
    resource(authors, {
      id: authors.id,
      auth: { public: { read: true } },
      relations: {
        posts: { type: "hasMany", resource: posts, foreignKey: posts.authorId, filterable: true },
        essays: { type: "hasMany", resource: essays, foreignKey: essays.authorId },
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
    resource(essays, {
      id: essays.id,
      auth: { public: { read: true } },
      relations: {
        author: { type: "belongsTo", resource: authors, foreignKey: essays.authorId },
      },
    }),
    resource(books, { id: books.id, auth: { public: { read: true } } }),
    resource(articles, { id: articles.id, auth: { public: true, update: () => all() } }),
    resource(documents, { id: documents.id, auth: { public: true, update: () => all() } }),
    resource(uploads, { id: uploads.id, auth: { public: { read: true }, update: () => all() } }),
  ];
}

/** Creates and fills the tables of a new database. */
export async function fill(db: Database, content: Content, scannedRows: number): Promise<void> {
  const run = (text: string) => db.driver.query({ text, values: [] });
  const isPostgres = db.driver.dialect.engine === "postgres";
  const repeated = (word: string, count: number) =>
    isPostgres
      ? `repeat('${word}', ${count})`
      : `replace(hex(zeroblob(${count})), '00', '${word}')`;
  // The rows are inserted in parts, because a statement must not take longer than 15 seconds.
  const insert = async (into: string, count: number, values: string) => {
    for (let first = 1; first <= count; first += rowsOfInsert) {
      await run(
        `INSERT INTO ${into} WITH RECURSIVE numbers(i) AS (SELECT ${first}
          UNION ALL SELECT i + 1 FROM numbers WHERE i < ${
          Math.min(count, first + rowsOfInsert - 1)
        })
        SELECT ${values} FROM numbers`,
      );
    }
  };
  if (content === "scans") {
    await db.createTables([notes, readings]);
    await insert("notes (id, title)", 1_000, "i, 'note ' || i");
    await insert("readings (id, n, label)", scannedRows, "i, i % 1000, 'reading ' || i");
    if (isPostgres) await run("ANALYZE readings");
    return;
  }
  const tables = [notes, authors, posts, essays, books, articles, documents, uploads];
  await db.createTables(tables);
  await insert("notes (id, title)", 1_000, "i, 'note ' || i");
  await insert("authors (id, name)", 1, "i, 'the only one'");
  await insert("posts (id, author_id, title)", 10_000, "i, 1, 'post ' || i");
  await insert("essays (id, author_id, body)", 99, `i, 1, i || ${repeated("essay ", 3_300)}`);
  await insert("books (id, body)", 120, `i, (1000 + i) || ${repeated("word ", 200_000)}`);
  await insert("articles (id, body)", 1_000, `i, ${repeated("a", 10_000)} || i`);
  const body = `(10000 + i) || ${repeated("line ", 3_200)}`;
  await insert("uploads (id, body)", 1, "i, ''");
  await insert("documents (id, n, body)", 2_500, `i, i, ${body}`);
  await run("CREATE INDEX posts_by_author ON posts (author_id)");
  await run("CREATE INDEX essays_by_author ON essays (author_id)");
}

const rowsOfInsert = 250_000;
