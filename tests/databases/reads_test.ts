import { DatabaseSync } from "node:sqlite";
import { assertEquals } from "@std/assert";
import postgres from "postgres";
import { checkDatabase } from "../../dev/check_database/check_database.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const server = testPostgres();
const { CHINOOK_SQLITE, CHINOOK_POSTGRES, DATABASES } = Deno.env.toObject();

/** Every answer to a read is that of plain SQL. */
async function check(place: string): Promise<void> {
  const options = { maxRows: 1_000, schemas: null, print: () => {} };
  assertEquals(await checkDatabase(place, options), []);
}

Deno.test("a SQLite file of odd tables answers as plain SQL does", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/odd.db`;
  const db = new DatabaseSync(path);
  db.exec(oddSqlite);
  db.close();
  await check(path);
});

testUnless(
  "missing" in server ? server.missing : null,
  "a Postgres of odd tables answers as plain SQL does",
  () => withPostgres(oddPostgres, check),
);

testUnless(
  CHINOOK_SQLITE === undefined ? "CHINOOK_SQLITE names no file" : null,
  "Chinook on SQLite answers as plain SQL does",
  () => check(CHINOOK_SQLITE ?? ""),
);

testUnless(
  "missing" in server
    ? server.missing
    : CHINOOK_POSTGRES === undefined
    ? "CHINOOK_POSTGRES names no file"
    : null,
  "Chinook on Postgres answers as plain SQL does",
  async () => {
    const script = await Deno.readTextFile(CHINOOK_POSTGRES ?? "");
    await withPostgres(script.slice(script.indexOf("CREATE TABLE")), check);
  },
);

testUnless(
  DATABASES === undefined ? "DATABASES lists no paths or URLs" : null,
  "the databases that the environment lists answer as plain SQL does",
  async () => {
    for (const place of DATABASES?.split(",") ?? []) await check(place);
  },
);

async function withPostgres(script: string, work: (url: string) => Promise<void>): Promise<void> {
  if ("missing" in server) throw new Error(server.missing);
  const { url, drop } = await createScratchDatabase(server.url);
  try {
    const client = postgres(url, { max: 1, onnotice: () => {} });
    await client.unsafe(script);
    await client.end();
    await work(url);
  } finally {
    await drop();
  }
}

const rows = `
  INSERT INTO authors VALUES (1, 'Ada', NULL, 2.5), (2, 'ada', 1, -0.25), (3, 'Zoë', 1, NULL),
    (4, '', 2, 1e300), (5, '%_', NULL, 0);
  INSERT INTO "order line" VALUES (1, 1, 'a "b", c; d', 1), (1, 2, NULL, 2), (2, 1, 'x', 1);
  INSERT INTO parts VALUES ('p', 1, 1, 1), ('p', 2, 1, 2), ('q', 1, NULL, 2), ('r', 9, 2, NULL);
  INSERT INTO log VALUES (1, 'twice'), (1, 'twice'), (NULL, NULL), (2, 'once');
`;

const oddSqlite = `
  CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, boss_id INT REFERENCES authors,
    score REAL);
  CREATE TABLE "order line" ("order" INT, "2nd" INT, "what, exactly" TEXT, "author id" INT REFERENCES authors,
    PRIMARY KEY ("order", "2nd"));
  CREATE TABLE parts (code TEXT, size INT, "order" INT, "line 2" INT, PRIMARY KEY (code, size),
    FOREIGN KEY ("order", "line 2") REFERENCES "order line");
  CREATE TABLE log (level INT, message TEXT);
  CREATE VIEW loud AS SELECT name, score FROM authors WHERE score > 0;
  CREATE TABLE kinds (id INTEGER PRIMARY KEY, at TIMESTAMP, day DATE, price DECIMAL(12, 3), flag BOOLEAN,
    doc JSON, raw BLOB, big BIGINT, "any");
  INSERT INTO kinds VALUES
    (1, '2026-01-02 03:04:05', '2026-01-02', 12.5, 1, '{"a":[1,null]}', x'00ff', 9007199254740993, 'x'),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (3, '1969-12-31 23:59:59', '0001-01-01', -0.001, 0, '"text"', x'', -9007199254740993, 'y');
  ${rows}`;

const oddPostgres = `
  CREATE TABLE authors (id int PRIMARY KEY, name text, boss_id int REFERENCES authors, score float8);
  CREATE TABLE "order line" ("order" int, "2nd" int, "what, exactly" text, "author id" int REFERENCES authors,
    PRIMARY KEY ("order", "2nd"));
  CREATE TABLE parts (code varchar(9), size int, "order" int, "line 2" int, PRIMARY KEY (code, size),
    FOREIGN KEY ("order", "line 2") REFERENCES "order line");
  CREATE TABLE log (level int, message text);
  CREATE VIEW loud AS SELECT name, score FROM authors WHERE score > 0;
  CREATE TYPE mood AS ENUM ('well', 'fine', 'bad');
  CREATE TABLE kinds (id int8 PRIMARY KEY, at timestamptz, day date, price numeric(12, 3), flag bool,
    doc jsonb, raw bytea, big int8, feels mood, net inet, code uuid);
  INSERT INTO kinds (id) VALUES (2);
  INSERT INTO kinds VALUES
    (1, '2026-01-02 03:04:05.123456Z', '2026-01-02', 12.5, true, '{"a":[1,null]}', '\\x00ff',
      9007199254740993, 'fine', '10.0.0.9', '9d3a3b1e-1111-4222-8333-444455556666'),
    (3, '1969-12-31 23:59:59Z', '0001-01-01', -0.001, false, '"text"', '', -9007199254740993, 'well',
      '9.0.0.1/8', NULL), (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'bad', '100.0.0.1', NULL);
  ${rows}`;
