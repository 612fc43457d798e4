import { assertEquals } from "@std/assert";
import { openDatabase } from "../../mod.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { runScript } from "../support/scratch.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";

testOnPostgres("a role with rights on columns has the columns that it may read", async (url) => {
  const role = `columns_${crypto.randomUUID().slice(0, 8)}`;
  const admin = await openPostgres(url);
  const reader = new URL(url);
  reader.username = role;
  reader.password = "secret";
  try {
    await runScript(
      admin,
      `CREATE ROLE ${role} LOGIN PASSWORD 'secret';
      CREATE TABLE people (id int PRIMARY KEY, name text UNIQUE, salary int);
      CREATE TABLE notes (id int PRIMARY KEY, person int REFERENCES people, writer text REFERENCES people (name));
      CREATE TABLE codes (id int PRIMARY KEY, code text NOT NULL UNIQUE, secret text);
      CREATE TABLE hidden (id int PRIMARY KEY);
      INSERT INTO people VALUES (1, 'Ada', 9);
      GRANT SELECT (id, name) ON people TO ${role};
      GRANT SELECT (id, writer) ON notes TO ${role};
      GRANT SELECT (code) ON codes TO ${role};
      `,
    );
    const db = await openDatabase(reader.href, { readOnly: true });
    try {
      const { tables, leftOut } = await db.introspect();
      const columnsOf = tables.map(({ name, columns, primaryKey, foreignKeys }) => [
        name,
        columns.map(({ name }) => name),
        primaryKey.map(({ name }) => name),
        foreignKeys.map(({ columns }) => columns),
      ]);
      assertEquals(columnsOf, [
        // The key of the table is not readable, and another unique column is one.
        ["codes", ["code"], ["code"], []],
        ["notes", ["id", "writer"], ["id"], [["writer"]]],
        ["people", ["id", "name"], ["id"], []],
      ]);
      assertEquals(leftOut, [{ table: "hidden", reason: "this user may not read it" }]);
    } finally {
      await db.close();
    }
  } finally {
    await runScript(admin, `DROP OWNED BY ${role};\nDROP ROLE ${role};\n`);
    await admin.close();
  }
});
