import { assert, assertEquals } from "@std/assert";
import { openDatabase } from "../../src/engines/open_database.ts";
import {
  type ColumnInfo,
  serviceTimestampFormat,
  type TableInfo,
} from "../../src/schema/table_info.ts";
import { mediaScripts } from "../fixtures/media.ts";
import { everyEngine } from "../support/engines.ts";
import { runScript, scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import type { Database } from "../../src/db/database.ts";

for (const engine of everyEngine) {
  testUnless(
    engine.ignore ?? null,
    `introspection by ${engine.name} describes the tables of another program`,
    async () => {
      const db = await engine.open();
      try {
        await runScript(db.driver, mediaScripts[db.dialect.engine]);
        const { tables, leftOut } = await db.introspect();
        if (db.dialect.engine === "sqlite") checkSqlite(tables);
        else await checkPostgres(db, tables);
        for (const table of tables) {
          assertEquals([table.own, table.schema], [false, null]);
          assertEquals(table.columns.every(({ existingType }) => existingType !== null), true);
        }
        assertEquals(leftOut, []);
        const isView = ({ name }: TableInfo) => name.toLowerCase() === "cheap";
        // Postgres itself can update a view of one table.
        const isReadOnly = db.dialect.engine === "sqlite";
        assertEquals(tables.filter(isView).map(({ readOnly, distinct }) => [readOnly, distinct]), [
          [isReadOnly, true],
        ]);
      } finally {
        await db.close();
      }
    },
  );
}

function checkSqlite(tables: readonly TableInfo[]): void {
  assertEquals(tables.map(({ name }) => name), [
    "Album",
    "Album Track",
    "Artist",
    "Employee",
    "Note",
    "Review",
    "Words",
    "Cheap",
  ]);
  assertEquals(describe(tables, "Note"), [
    "rowid integer key not-null =database",
    "Text text",
  ]);
  assertEquals(describe(tables, "Album"), [
    "AlbumId integer key not-null =database",
    "Title text not-null <=160",
    "ArtistId integer not-null ->Artist.ArtistId",
    'Format text not-null ="vinyl" in[vinyl|cd|it\'s a tape]',
    'Price decimal not-null ="9.50" (10,2)',
    "Stock integer not-null =0",
    "Released date",
    "Added timestamp not-null =database date time[.fff]",
    "Sold boolean not-null =false",
    "Weight real",
    "Cover bytes",
    "Extra json",
    "Code uuid unique",
    "Loud text generated",
    "Oddity any",
    "Point any",
  ]);
  assertEquals(describe(tables, "Employee").at(-1), "HiredAt timestamp epoch-seconds");
  checkKeys(tables, {
    track: "Album Track",
    key: ["AlbumId", "Side", "Place"],
    review: "Review",
    employee: "Employee",
    boss: ["ReportsTo", "EmployeeId"],
  });
  assertEquals(describe(tables, "Review")[0], "Id text key not-null");
}

async function checkPostgres(db: Database, tables: readonly TableInfo[]): Promise<void> {
  assertEquals(
    tables.map(({ name }) => name).sort(),
    ["Album Track", "Artist", "album", "cheap", "employee", "note", "review"],
  );
  const note = find(tables, "note");
  assertEquals([note.primaryKey, note.readOnly, note.distinct], [[], true, false]);
  assertEquals(describe(tables, "album"), [
    "album_id integer key not-null generated =database",
    "title text not-null <=160",
    "artist_id integer not-null ->Artist.ArtistId",
    'format text not-null ="vinyl" in[vinyl|cd|it\'s a tape]',
    'state text ="new" in[new|it\'s used]',
    "size text in[7|12] <=10",
    'price decimal not-null ="9.50" (10,2)',
    "stock integer not-null =0",
    "released date",
    "added timestamp not-null =database",
    "changed timestamp",
    "sold boolean not-null =false",
    "weight real",
    "cover bytes",
    "extra json ={}",
    "code uuid unique",
    "loud text generated",
    "address text",
    "tags json",
  ]);
  assertEquals(describe(tables, "employee")[0], "employee_id integer key not-null =database");
  checkKeys(tables, {
    track: "Album Track",
    key: ["album_id", "side", "place"],
    review: "review",
    employee: "employee",
    boss: ["reports_to", "employee_id"],
  });
  const other = await db.introspect({ schemas: ["other"] });
  assertEquals(other.tables.map(({ schema, name }) => `${schema}.${name}`), ["other.thing"]);
  assertEquals(other.tables[0]?.foreignKeys, []);
}

/** What happens to referencing rows. */
const failing = { onDelete: null, onUpdate: null };

function checkKeys(
  tables: readonly TableInfo[],
  names: {
    readonly track: string;
    readonly key: readonly string[];
    readonly review: string;
    readonly employee: string;
    readonly boss: readonly [string, string];
  },
): void {
  const key = find(tables, names.track).primaryKey.map(({ name }) => name);
  assertEquals(key, [...names.key]);
  assertEquals(find(tables, names.review).foreignKeys, [
    { columns: names.key, schema: null, table: names.track, references: names.key, ...failing },
  ]);
  const [column, target] = names.boss;
  assertEquals(find(tables, names.employee).foreignKeys, [
    { columns: [column], schema: null, table: names.employee, references: [target], ...failing },
  ]);
}

/** A column in a line: the lines read like the declaration. */
function describe(tables: readonly TableInfo[], name: string): string[] {
  return find(tables, name).columns.map((column) =>
    [
      column.name,
      column.databaseType?.shape.kind === "any" ? "any" : column.kind,
      column.primaryKey && "key",
      column.notNull && "not-null",
      column.unique && "unique",
      column.generated && "generated",
      describeDefault(column),
      column.enumValues !== null && `in[${column.enumValues.join("|")}]`,
      column.maxLength !== null && `<=${column.maxLength}`,
      column.precision !== null && `(${column.precision},${column.scale})`,
      column.references !== null && `->${column.references.table}.${column.references.column}`,
      column.kind === "timestamp" && column.timestampFormat !== serviceTimestampFormat &&
      column.timestampFormat,
    ].filter((part) => part !== false && part !== null).join(" ")
  );
}

function describeDefault({ default: value }: ColumnInfo): string | null {
  if (value === null) return null;
  const hasValue = value.kind !== "function" && value.value !== undefined;
  return hasValue ? `=${JSON.stringify(value.value)}` : `=${value.kind}`;
}

function find(tables: readonly TableInfo[], name: string): TableInfo {
  const table = tables.find((table) => table.name === name);
  assert(table !== undefined, name);
  return table;
}

Deno.test("a SQLite column has the kind of its declared type, and takes any value where rows do not fit it", async () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["TIMESTAMP", "'2024-01-02T03:04:05.678Z'", "timestamp dateTtime.fffZ"],
    ["TIMESTAMP", "'2024-01-02T03:04:05.678901Z'", "timestamp"],
    ["TIMESTAMP", "'2024-01-02T03:04:05Z'", "timestamp dateTtime[.fff]Z"],
    ["TIMESTAMP", "'2024-01-02T03:04:05'", "timestamp dateTtime[.fff]"],
    ["TIMESTAMP", "'2024-01-02T03:04:05+00:00'", "timestamp dateTtime[.fff]+00:00"],
    ["TIMESTAMP", "'2024-01-02T03:04:05.250000+00:00'", "timestamp dateTtime.ffffff+00:00"],
    ["DATETIME", "'2024-01-02 03:04:05Z'", "timestamp date time[.fff]Z"],
    ["DATETIME", "'2024-01-02 03:04:05.678'", "timestamp date time.fff"],
    ["DATETIME", "'2024-01-02 03:04:05'), ('2024-01-02 03:04:05.678'", "timestamp date time[.fff]"],
    ["DATETIME", "'2024-01-02 03:04:05'), ('2024-01-02 03:04:05.67'", "any"],
    ["DATETIME", "'2024-01-02T03:04:05Z'), ('2024-01-02T03:04:05.678Z'", "any"],
    ["DATETIME", "'2024-01-02T03:04:05+02:00'", "any"],
    ["DATETIME", "'2024-01-02'), ('2024-01-02 03:04:05'", "any"],
    ["DATETIME", "1700000000123", "timestamp epoch-milliseconds"],
    ["DATETIME", "NULL", "timestamp date time[.fff]"],
    ["DATETIME", "'2024-01-02'", "date"],
    ["DATETIME", "'yesterday'", "any"],
    ["DATETIME", "2460000.5", "any"],
    ["DATE", "'2024-01-02 00:00:00'", "timestamp date time[.fff]"],
    ["BOOLEAN", "'true'", "any"],
    ["BOOLEAN", "1", "boolean"],
    ["UUID", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "any"],
    ["UUID", "x'00112233445566778899aabbccddeeff'", "bytes"],
    ["NUMERIC(10,2)", "0.1 + 0.2", "decimal"],
    ["NUMERIC(10,2)", "0.5", "decimal (10,2)"],
    ["DECIMAL", "12345678901234", "decimal"],
    ["INT", "'many'", "any"],
    // It was a column of texts, in which 10 came before 9.
    ["INT", "9), (10), ('n/a'", "integer"],
    ["DECIMAL(8,2)", "9), (10.5), ('x'", "decimal (8,2)"],
    ["DATETIME", "1700000000), ('now'", "timestamp epoch-seconds"],
    ["UNSIGNED BIG INT", "9007199254740993", "integer"],
    ["VARCHAR (20)", "'x'", "text <=20"],
    ["INT", "1.5", "any"],
    ["FLOATING POINT", "1.5", "any"],
    ["REAL", "1), (9e999", "real"],
    ["TEXT", "x''), (x''", "text"],
    ["DATETIME", "'2024-01-02 03:04:05'), ('2024-01-02 03:04:06'), (1700000001", "any"],
    ["TEXT", "'x'), (x'01'", "text"],
    // The declared type says nothing certain, whatever the rows hold.
    ["", "7", "any"],
    ["", "NULL", "any"],
    ["YEAR", "1999", "any"],
    ["STRING", "'x'", "any"],
    ["INTEGER_OR_TEXT", "1", "any"],
    ["POINT", "1", "any"],
    ["BLOB", "1", "any"],
  ];
  const db = await openDatabase("sqlite::memory:");
  for (const [index, [declared, value]] of cases.entries()) {
    const name = `t${String(index).padStart(3, "0")}`;
    const text = `CREATE TABLE ${name} (id INTEGER PRIMARY KEY, c ${declared})`;
    await db.driver.query({ text, values: [] });
    await db.driver.query({ text: `INSERT INTO ${name} (c) VALUES (${value})`, values: [] });
  }
  const { tables } = await db.introspect();
  for (const [index, [declared, value, expected]] of cases.entries()) {
    const table = tables[index];
    assert(table !== undefined);
    assertEquals(describe(tables, table.name)[1], `c ${expected}`, `${declared}: ${value}`);
  }
  await db.close();
});

Deno.test("a form of values that began after the first rows of a SQLite table counts, too", async () => {
  const path = await Deno.makeTempFile({ suffix: ".db" });
  const db = await openDatabase(`sqlite:${path}`);
  try {
    await runScript(
      db.driver,
      `CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME, code UUID, n NUMERIC, same DATETIME);
       CREATE TABLE w (id TEXT PRIMARY KEY, at DATETIME) WITHOUT ROWID;
       WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 1000) INSERT INTO t
         SELECT i, '2024-01-02 03:04:05', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', i,
         '2024-01-02 03:04:05' FROM r;
       UPDATE t SET at = '2024-01-02T03:04:05Z', code = upper(code), n = 'many' WHERE id > 850;`,
    );
    const { tables } = await db.introspect();
    assertEquals(describe(tables, "t").slice(1), [
      "at any",
      "code any",
      "n decimal",
      "same timestamp date time[.fff]",
    ]);
  } finally {
    await db.close();
    await Deno.remove(path);
  }
});

Deno.test("a key column of SQLite may be NULL only where a row shows it", async () => {
  const db = await openDatabase("sqlite::memory:");
  await runScript(
    db.driver,
    `CREATE TABLE a (id TEXT PRIMARY KEY);
     CREATE TABLE b (id TEXT PRIMARY KEY);
     INSERT INTO b VALUES (NULL), ('x');`,
  );
  const { tables } = await db.introspect();
  assertEquals(tables.map((table) => table.primaryKey[0]?.notNull), [true, false]);
  await db.close();
});

const chinookSqlite = Deno.env.get("CHINOOK_SQLITE");
testUnless(
  chinookSqlite === undefined ? "CHINOOK_SQLITE names no file" : null,
  "introspection reads the Chinook database on SQLite",
  async () => {
    // The original may be in a read-only folder; a reader in WAL mode has to write.
    await using folder = await scratchFolder();
    await Deno.copyFile(chinookSqlite ?? "", `${folder.path}/chinook.db`);
    for (const scheme of ["sqlite", "node-sqlite"]) {
      const db = await openDatabase(`${scheme}:${folder.path}/chinook.db`, { readOnly: true });
      const { tables, leftOut } = await db.introspect();
      assertEquals([tables.length, leftOut.length], [11, 0]);
      const key = find(tables, "PlaylistTrack").primaryKey.map(({ name }) => name);
      assertEquals(key, ["PlaylistId", "TrackId"]);
      assertEquals(describe(tables, "Invoice").slice(-1), ["Total decimal not-null (10,2)"]);
      await db.close();
    }
  },
);

const chinookPostgres = Deno.env.get("CHINOOK_POSTGRES");
const postgres = everyEngine.find(({ name }) => name === "postgres");
testUnless(
  postgres?.ignore ?? (chinookPostgres === undefined ? "CHINOOK_POSTGRES names no file" : null),
  "introspection reads the Chinook database on Postgres",
  async () => {
    const script = await Deno.readTextFile(chinookPostgres ?? "");
    const db = await postgres?.open();
    assert(db !== undefined);
    // The lines before that create and enter the database, by commands of psql.
    const [, statements = script] = script.split(/^\\c .*$/m);
    await runScript(db.driver, statements.replaceAll(/\/\*[^]*?\*\//g, ""));
    const { tables, leftOut } = await db.introspect();
    assertEquals([tables.length, leftOut.length], [11, 0]);
    const key = find(tables, "playlist_track").primaryKey.map(({ name }) => name);
    assertEquals(key, ["playlist_id", "track_id"]);
    assertEquals(describe(tables, "invoice").slice(-1), ["total decimal not-null (10,2)"]);
    await db.close();
  },
);
