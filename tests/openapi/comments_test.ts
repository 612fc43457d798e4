/** Comments of Postgres are the descriptions of tables and columns. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { all, createApp, integer, openDatabase, resource, table } from "../../mod.ts";
import { describedTables, tableChanges } from "../../src/cli/reopen/table_states.ts";
import { schemaVersion } from "../../src/db/tables/schema_version.ts";
import { writeApiTypes } from "../../src/openapi/api_types.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { runScript } from "../support/scratch.ts";

const script = `
CREATE TABLE films (id integer PRIMARY KEY, title text NOT NULL, secret text, price numeric(6, 2));
COMMENT ON TABLE films IS 'Films on show.
Closed on Mondays.';
COMMENT ON COLUMN films.title IS 'The title */ as <b>advertised</b>';
COMMENT ON COLUMN films.secret IS 'hush';
CREATE VIEW cheap AS SELECT id, title FROM films WHERE price < 5;
COMMENT ON VIEW cheap IS 'Films below 5';
COMMENT ON COLUMN cheap.title IS 'Title of a cheap film';
`;

testOnPostgres("comments describe tables and columns", async (url) => {
  const db = await openDatabase(url);
  await runScript(db.driver, script);
  const { tables } = await db.introspect();
  const app = await createApp({
    db,
    secret: "sixteen or more characters",
    resources: tables.map((table) =>
      resource(table, {
        id: table.primaryKey.map(({ name }) => name),
        auth: { public: { read: true }, create: () => all(), update: () => all() },
        ...(table.name === "films" ? { fields: { readable: ["id", "title", "price"] } } : {}),
      })
    ),
  });
  try {
    const schema = app.schema();
    const described = schema.resources.map(({ name, description, fields }) => ({
      name,
      description,
      fields: fields.map((field) => [field.name, field.description]),
    }));
    const comment = "Films on show.\nClosed on Mondays.";
    const title = "The title */ as <b>advertised</b>";
    assertEquals(described, [{
      name: "cheap",
      description: "Films below 5",
      fields: [["id", undefined], ["title", "Title of a cheap film"]],
    }, {
      name: "films",
      description: comment,
      fields: [["id", undefined], ["title", title], ["price", undefined]],
    }]);
    const document = Object(app.openapi());
    const { Films, FilmsCreate } = document.components.schemas;
    assertEquals(Films.description, comment);
    assertEquals(Films.properties.title, { type: "string", description: title });
    assertEquals(FilmsCreate.properties.title.description, title);
    assertEquals(document.tags.map((tag: { description: string }) => tag.description).slice(0, 2), [
      "Films below 5",
      comment,
    ]);
    const page = await (await app.fetch(
      new Request("http://localhost/api/", { headers: { accept: "text/html" } }),
    )).text();
    assertStringIncludes(page, "text, required: The title */ as &lt;b&gt;advertised&lt;/b&gt;");
    const types = writeApiTypes(schema);
    assertStringIncludes(
      types,
      `/**\n * Films on show.\n * Closed on Mondays.\n */\nexport interface Films {`,
    );
    assertStringIncludes(types, "  /** The title *\\/ as <b>advertised</b> */\n  title: string;");
    const update = types.slice(types.indexOf("FilmsUpdate {"));
    assertStringIncludes(update, "  /** The title *\\/ as <b>advertised</b> */\n  title?: string;");
    for (const text of [JSON.stringify(schema), JSON.stringify(document), page, types]) {
      assertEquals(text.includes("hush"), false);
    }
  } finally {
    await app.close();
  }
});

testOnPostgres("a changed comment is a change of the schema", async (url) => {
  const db = await openDatabase(url);
  try {
    await runScript(db.driver, script);
    let before = {
      version: await schemaVersion(db.driver),
      tables: (await db.introspect()).tables,
    };
    const changes = {
      "COMMENT ON TABLE films IS 'Other'": ["films"],
      "COMMENT ON COLUMN films.title IS 'Other'": ["films"],
      "COMMENT ON COLUMN cheap.title IS NULL": ["cheap"],
    };
    for (const [text, changed] of Object.entries(changes)) {
      await db.driver.query({ text, values: [] });
      const after = {
        version: await schemaVersion(db.driver),
        tables: (await db.introspect()).tables,
      };
      assertEquals([text, after.version === before.version], [text, false]);
      assertEquals(
        tableChanges(describedTables(before.tables), describedTables(after.tables)).changed,
        changed,
      );
      before = after;
    }
  } finally {
    await db.close();
  }
});

testOnPostgres(
  "the rows of a function have the comments of their own database's table",
  async (url) => {
    const other = await openDatabase("sqlite::memory:");
    const films = table("films", { id: integer().primaryKey(), stars: integer() });
    await other.createTables([films]);
    const db = await openDatabase(url);
    await runScript(
      db.driver,
      `${script}
CREATE FUNCTION best() RETURNS SETOF films STABLE LANGUAGE sql AS 'SELECT * FROM films';`,
    );
    const { tables, functions } = await db.introspect({ functions: ["*"] });
    const app = await createApp({
      db,
      secret: "sixteen or more characters",
      resources: [
        resource(films, { id: films.id, db: other, path: "stars", auth: { public: true } }),
        ...tables.filter(({ name }) => name === "films").map((table) =>
          resource(table, { id: ["id"], auth: { public: true }, procedures: functions })
        ),
      ],
    });
    try {
      const { paths } = Object(app.openapi());
      const { schema } =
        paths["/api/films/rpc/best"].get.responses[200].content["application/json"];
      const { items } = schema.properties.data.properties.items;
      assertEquals(items.properties.title, {
        type: "string",
        description: "The title */ as <b>advertised</b>",
      });
    } finally {
      await app.close();
    }
  },
);
