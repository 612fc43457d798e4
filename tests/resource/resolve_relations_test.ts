import { assertEquals, assertMatch } from "@std/assert";
import { createApp } from "../../src/app.ts";
import { type Database, openDatabase } from "../../src/db/open_database.ts";
import type { Introspection } from "../../src/db/introspection.ts";
import { eq, rsql } from "../../src/filter/builders.ts";
import {
  resource,
  type ResourceDefinition,
} from "../../src/resource/define/resource_definition.ts";
import type { ResourceOptions } from "../../src/resource/define/resource_options.ts";
import { resolveRelations } from "../../src/resource/define/resolve_relations.ts";
import {
  bytes,
  integer,
  json,
  real,
  text,
  timestamp,
  uuid,
} from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { mediaScripts } from "../fixtures/media.ts";
import { type Engine, engines } from "../support/engines.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";
import { runScript } from "../support/scratch.ts";

type Options = Partial<ResourceOptions<Record<string, unknown>>>;

/** `name: type → table` of each relation of a table. */
async function relationsOf(
  script: string,
  name: string,
  options: (table: string) => Options = () => ({}),
): Promise<readonly string[]> {
  const db = await openDatabase("sqlite::memory:");
  try {
    await runScript(db.driver, script);
    const { tables } = await db.introspect();
    const definitions = served(tables, options);
    const resolved = resolveRelations(definitions, db.driver);
    const wanted = definitions.find(({ table }) => "name" in table && table.name === name);
    const relations = wanted === undefined ? undefined : resolved.get(wanted);
    return [...relations?.values() ?? []].map((relation) =>
      `${relation.name}: ${relation.type} ${relation.target.name}`
    );
  } finally {
    await db.close();
  }
}

function served(
  tables: Introspection["tables"],
  options: (table: string) => Options = () => ({}),
): ResourceDefinition[] {
  return tables.map((one) => {
    const all: ResourceOptions<Record<string, unknown>> = {
      id: one.primaryKey.map(({ name }) => name),
      auth: { public: { read: true } },
      ...options(one.name),
    };
    return resource(one, all);
  });
}

Deno.test("foreign keys become relations, named by their columns and by the other tables", async () => {
  assertEquals(await relationsOf(mediaScripts.sqlite, "Album"), [
    "Artist: belongsTo Artist",
    "Album Track: hasMany Album Track",
  ]);
  assertEquals(await relationsOf(mediaScripts.sqlite, "Artist"), ["Album: hasMany Album"]);
  assertEquals(await relationsOf(mediaScripts.sqlite, "Employee"), [
    "ReportsToToEmployee: belongsTo Employee",
    "EmployeeByReportsTo: hasMany Employee",
  ]);
  // A key of several columns makes no relation.
  assertEquals(
    (await relationsOf(mediaScripts.sqlite, "Album Track")).filter((one) => /eview/.test(one)),
    [],
  );
});

const clashing = `
CREATE TABLE team (id INTEGER PRIMARY KEY, name TEXT, lead_id INT REFERENCES person, star_id INT,
  FOREIGN KEY (star_id) REFERENCES person (id));
CREATE TABLE person (id INTEGER PRIMARY KEY, team_id INT REFERENCES team, team TEXT, _id INT
  REFERENCES team, weight REAL REFERENCES scale (weight), "a.b" INT REFERENCES team);
CREATE TABLE scale (id INTEGER PRIMARY KEY, weight REAL UNIQUE);
CREATE TABLE __proto__ (id INTEGER PRIMARY KEY, person INT REFERENCES person);`;

Deno.test("names that clash with columns or each other become distinct, whatever the order", async () => {
  assertEquals(await relationsOf(clashing, "team"), [
    "lead: belongsTo person",
    "star: belongsTo person",
    "personByTeam_id: hasMany person",
    "personBy_id: hasMany person",
    "personByA_b: hasMany person",
  ]);
  assertEquals((await relationsOf(clashing, "person")).toSorted(), [
    "_idToTeam: belongsTo team",
    "a_b: belongsTo team",
    "teamByLead_id: hasMany team",
    "teamByStar_id: hasMany team",
    "teamToTeam: belongsTo team",
  ]);
});

Deno.test("a declared relation replaces a derived one, and a hidden key makes none", async () => {
  const declare = (name: string): Options =>
    name === "Artist"
      ? {
        relations: {
          Album: { type: "hasOne", resource: "Album", foreignKey: "ArtistId", filterable: true },
        },
      }
      : {};
  assertEquals(await relationsOf(mediaScripts.sqlite, "Artist", declare), ["Album: hasOne Album"]);
  const hide = (name: string): Options =>
    name === "Album" ? { fields: { readable: ["AlbumId", "Title"] } } : {};
  assertEquals(await relationsOf(mediaScripts.sqlite, "Artist", hide), []);
  assertEquals(await relationsOf(mediaScripts.sqlite, "Album", hide), [
    "Album Track: hasMany Album Track",
  ]);
  const off = (name: string): Options => name === "Artist" ? { autoRelations: false } : {};
  assertEquals(await relationsOf(mediaScripts.sqlite, "Artist", off), []);
  assertEquals((await relationsOf(mediaScripts.sqlite, "Album", off)).length, 2);
});

const teams = table("teams", { id: integer().primaryKey(), name: text().notNull() });
const people = table("people", {
  id: integer().primaryKey(),
  name: text().notNull(),
  teamId: integer().references(() => teams.id),
});

testOnEngines(
  "autoRelations serves the foreign keys of declared tables, too",
  (engine) =>
    withService(engine, [teams, people], () => ({
      resources: [
        resource(teams, { id: teams.id, auth: { public: { read: true } }, autoRelations: true }),
        resource(people, { id: people.id, auth: { public: { read: true } }, autoRelations: true }),
      ],
    }), async ({ db, get }) => {
      await insertRows(db, teams, [{ id: 1, name: "red" }]);
      await insertRows(db, people, [{ id: 1, name: "ann", teamId: 1 }]);
      assertEquals((await get("/api/people?include=team")).body.items, [
        { id: 1, name: "ann", teamId: 1, team: { id: 1, name: "red" } },
      ]);
      assertEquals((await get("/api/teams/1?include=people(select:name)")).body, {
        ...{ id: 1, name: "red", people: [{ name: "ann" }] },
      });
      assertEquals((await get("/api/people?filter=team.name==red")).status, 400, "not marked");
    }),
);

testOnEngines(
  "two resources over one table keep their own relations",
  (engine) =>
    withService(engine, [teams, people], () => ({
      resources: [
        resource(people, {
          id: people.id,
          auth: { public: { read: true } },
          fields: { readable: [people.id, people.name] },
          relations: { team: { type: "belongsTo", resource: teams, foreignKey: people.teamId } },
        }),
        resource(people, {
          id: people.id,
          path: "staff",
          auth: { read: (user) => rsql`group.name==${user.id}` },
          relations: { group: { type: "belongsTo", resource: teams, foreignKey: people.teamId } },
        }),
        resource(teams, {
          id: teams.id,
          auth: { public: { read: true } },
          relations: {
            people: { type: "hasMany", resource: "people", foreignKey: people.teamId },
          },
        }),
      ],
    }), async ({ db, get }) => {
      await insertRows(db, teams, [{ id: 1, name: "red" }, { id: 2, name: "blue" }]);
      await insertRows(db, people, [
        { id: 1, name: "ann", teamId: 1 },
        { id: 2, name: "bob", teamId: 2 },
      ]);
      const red = { "x-user": "red" };
      assertEquals((await get("/api/people/1?include=team")).body.team, { id: 1, name: "red" });
      assertEquals((await get("/api/people/1?include=group")).status, 400);
      assertEquals((await get("/api/staff?include=group(select:name)", red)).body.items, [
        { id: 1, name: "ann", teamId: 1, group: { name: "red" } },
      ]);
      assertEquals((await get("/api/staff?include=team", red)).status, 400);
      // A relation leads to the first of the two resources.
      assertEquals((await get("/api/teams/1?include=people.team")).body.people, [
        { id: 1, name: "ann", team: { id: 1, name: "red" } },
      ]);
    }),
);

const odd = table("odd", {
  id: integer().primaryKey(),
  name: text(),
  ref: uuid(),
  data: json(),
  file: bytes(),
  score: real(),
  at: timestamp(),
});

async function faultOf(
  relation: unknown,
  more: (db: Database) => Options = () => ({}),
  name = "link",
): Promise<string> {
  const [engine] = engines as readonly [Engine];
  const db = await engine.open();
  try {
    await db.createTables([teams, odd]);
    // Mistakes of an unchecked program.
    const relations = { [name]: relation } as never;
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      resources: [
        resource(odd, { id: odd.id, computed: { sum: () => 1 }, relations }),
        resource(teams, { id: teams.id, auth: { read: () => eq(teams.id, 1) }, ...more(db) }),
      ],
    });
    await app.close();
    return "no fault";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await db.close();
  }
}

Deno.test("a relation that cannot be walked fails the start, with its name and the reason", async () => {
  const to = (foreignKey: unknown, more: object = {}) => ({
    ...{ type: "belongsTo", resource: teams, foreignKey },
    ...more,
  });
  assertEquals(await faultOf(to(odd.id)), "no fault");
  for (
    const [relation, message] of [
      [
        to(odd.name),
        /"odd" by relations\.link: "name" \(text\) and "id" \(integer\) cannot be equal/,
      ],
      [to(odd.ref, { references: teams.name }), /\(uuid\) and "name" \(text\)/],
      [to(odd.data, { resource: odd, references: odd.data }), /none that is real, json or bytes/],
      [to(odd.file, { resource: odd, references: odd.file }), /\(bytes\) and "file" \(bytes\)/],
      [to(odd.score, { resource: odd, references: odd.score }), /\(real\) and "score" \(real\)/],
      [to(undefined), /relations\.link\.foreignKey is missing/],
      [to(odd.id, { type: "manyToMany" }), /manyToMany needs through and references/],
      [to(odd.id, { kind: "x" }), /Cannot serve "odd": relations\.link has no option "kind"/],
      ["teams", /relations\.link must be an object/],
    ] as const
  ) assertMatch(await faultOf(relation), message);
  const named = (name: string) => faultOf(to(odd.id), undefined, name);
  assertMatch(await named("sum"), /relations\.sum: a computed field has this name/);
  for (const name of ["a.b", "a,b", "a(", "a;b", " a", "__proto__"]) {
    assertMatch(await named(name), /a name must not hold/);
  }
});

Deno.test("a relation into another database fails the start", async () => {
  const other = await openDatabase("node-sqlite::memory:");
  try {
    await other.createTables([teams]);
    const relation = { type: "belongsTo", resource: teams, foreignKey: odd.id };
    assertMatch(
      await faultOf(relation, () => ({ db: other })),
      /relations\.link: "teams" is served from another database/,
    );
  } finally {
    await other.close();
  }
});
