import { DatabaseSync } from "node:sqlite";
import { assertEquals } from "@std/assert";
import postgres from "postgres";
import { openDatabase } from "../../mod.ts";
import { checkDatabase } from "../../dev/check_database/check_database.ts";
import { isSameValue } from "../../dev/check_database/same_value.ts";
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

Deno.test("virtual tables are served read-only, with the key that their module has", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/virtual.db`;
  const db = new DatabaseSync(path);
  db.exec(virtualTables);
  db.close();
  await check(path);
  const served = await openDatabase(`sqlite:${path}`, { readOnly: true });
  const { tables, leftOut } = await served.introspect();
  await served.close();
  assertEquals(leftOut, []);
  const described = tables.map(({ name, columns, primaryKey, readOnly }) =>
    `${name} ${columns.map(({ name }) => name)} by ${
      primaryKey.map(({ name }) => name)
    } ${readOnly}`
  );
  assertEquals(described.sort(), [
    "box id,x0,x1,note by id true",
    "docs rowid,title,body by rowid true",
    "mail rowid,rowid_,subject by rowid true",
    "notes id,title by id false",
    "of_notes rowid,title by rowid true",
    "old _rowid_,rowid by _rowid_ true",
    "terms term,doc,cnt by  true",
    "titles title by  true",
  ]);
});

Deno.test("what cannot be compared is listed, and the rest of it compared", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/views.db`;
  const db = new DatabaseSync(path);
  db.exec(`CREATE TABLE ".." (id INTEGER PRIMARY KEY);
    CREATE TABLE n (id INTEGER PRIMARY KEY);
    WITH RECURSIVE s(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM s WHERE i < 150)
    INSERT INTO n SELECT i FROM s;
    CREATE VIEW chance AS SELECT id + 0 AS id, random() AS luck FROM n;
    CREATE VIEW lucky AS SELECT random() AS luck, id + 0 AS id FROM n;`);
  db.close();
  const lines: string[] = [];
  const options = { maxRows: 1_000, schemas: null, print: (line: string) => lines.push(line) };
  assertEquals(await checkDatabase(path, options), []);
  const listed = lines.filter((line) => !/ requests/.test(line)).map((line) => line.trim());
  assertEquals(listed, [
    `${"/api/..".padEnd(44)} has a path that no URL can have`,
    ...["not walkable: a page after the first is 400, name a key by --key"],
    ...["not comparable, SQL gives other values: luck"],
    ...["not walkable: a page after the first is 400, name a key by --key"],
    // The page that is compared has other rows each time.
    ...["not comparable, SQL gives other values: luck,id"],
    "0 differences",
  ]);
});

Deno.test("a value of Postgres is compared with the notation of its type", () => {
  const composite = '(1,"a ""b"", \\\\ (c)",,t)';
  const sent = { x: 1, y: 'a "b", \\ (c)', z: null, ok: true };
  const cases: readonly (readonly [unknown, string, boolean])[] = [
    [sent, composite, true],
    [{ ...sent, x: 2 }, composite, false],
    [{ ...sent, y: "a" }, composite, false],
    [{ ...sent, z: "" }, composite, false],
    [{ ...sent, ok: false }, composite, false],
    [{ x: null, y: null }, "(,)", true],
    [{ x: null, y: "" }, "(,)", false],
    [{ x: null, y: "" }, '(,"")', true],
    [null, "(,)", false],
    [{ a: "1", b: null }, '"a"=>"1", "b"=>NULL', true],
    [{ a: "1", b: "NULL" }, '"a"=>"1", "b"=>NULL', false],
    [{ a: "1" }, '"a"=>"1", "b"=>NULL', false],
    [{ 'a"=>': "\\" }, '"a\\"=>"=>"\\\\"', true],
    [{}, "", true],
    [{ a: "1" }, "", false],
  ];
  const plain: readonly (readonly [string, string, string, boolean])[] = [
    ["timestamp", "not a date", "another", false],
    ["timestamp", "2026-01-02T03:04:05.000Z", "2026-01-02 03:04:05+00", true],
    ["decimal", "9007199254740993.10", "9007199254740993.1", true],
    ["decimal", "9007199254740993", "9007199254740992", false],
    ["decimal", "", "0", false],
  ];
  for (const [type, sent, stored, isSame] of plain) {
    assertEquals(isSameValue(sent, stored, type), isSame, `${type} ${sent} ${stored}`);
  }
  for (const [value, stored, isSame] of cases) {
    assertEquals(isSameValue(value, stored, "json"), isSame, `${JSON.stringify(value)} ${stored}`);
  }
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

const virtualTables = `
  CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
  INSERT INTO notes VALUES (1, 'one'), (5, 'five');
  CREATE VIRTUAL TABLE docs USING fts5(title, body UNINDEXED);
  INSERT INTO docs (rowid, title, body) VALUES (9, 'a b', 1), (3, 'b', NULL), (4, 'B', x'00ff');
  CREATE VIRTUAL TABLE mail USING fts4(rowid_, subject);
  INSERT INTO mail (rowid_, subject) VALUES ('x', 'hello'), (2, 'world');
  CREATE VIRTUAL TABLE old USING fts3(rowid);
  CREATE VIRTUAL TABLE of_notes USING fts5(title, content=notes, content_rowid=id);
  INSERT INTO of_notes (of_notes) VALUES ('rebuild');
  CREATE VIRTUAL TABLE box USING rtree(id, x0, x1, +note);
  INSERT INTO box VALUES (7, 0.1, 0.2, 'n'), (-1, 5, 6, NULL);
  CREATE VIRTUAL TABLE terms USING fts5vocab(docs, row);
  CREATE VIEW titles AS SELECT title FROM docs;
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
  CREATE TABLE ".." (id INTEGER PRIMARY KEY, v); CREATE TABLE "." (id INTEGER PRIMARY KEY);
  INSERT INTO ".." VALUES (1, 1), (2, 'a');
  CREATE TABLE nullable (a TEXT, b TEXT, PRIMARY KEY (a, b));
  INSERT INTO nullable VALUES (NULL, 'x'), ('y', NULL), (NULL, NULL), ('a', 'b');
  CREATE VIEW chance AS SELECT id, random() AS luck, name FROM authors;
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
  CREATE TABLE ".." (id int PRIMARY KEY, v text);
  INSERT INTO ".." VALUES (1, 'a');
  CREATE TYPE point_of AS (x int, "the y" text, at timestamptz, ok bool);
  CREATE TYPE line_of AS (start point_of, label text);
  CREATE TABLE shapes (id int PRIMARY KEY, p point_of, l line_of, ps point_of[]);
  INSERT INTO shapes VALUES
    (1, (1, 'a "b", c\d(e)', '2026-01-02 03:04:05.5Z', true), ((2, NULL, NULL, false), 'l'), '{"(1,a,,)"}'),
    (2, (NULL, NULL, NULL, NULL), (NULL, NULL), '{NULL,"(,,,)"}'), (3, NULL, NULL, '{}'),
    (4, (0, '', NULL, NULL), ((NULL, NULL, NULL, NULL), ''), NULL);
  CREATE EXTENSION hstore;
  CREATE TABLE maps (id int PRIMARY KEY, m hstore);
  INSERT INTO maps VALUES (1, ''), (2, NULL), (3, 'a=>1, b=>NULL, "c d"=>"x \\"q\\" => y, z", ""=>""');
  CREATE VIEW chance AS SELECT id, random() AS luck, name FROM authors;
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
