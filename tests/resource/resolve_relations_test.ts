import { assertEquals, assertMatch } from "@std/assert";
import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import type { Introspection } from "../../src/db/introspection.ts";
import { eq } from "../../src/filter/builders.ts";
import { rsql } from "../../src/filter/filter_text.ts";
import {
  requireTableInfo,
  resource,
  type ResourceDefinition,
} from "../../src/resource/define/resource_definition.ts";
import type { ResourceOptions } from "../../src/resource/model/resource_options.ts";
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
import type { Database } from "../../src/db/database.ts";

type Options = Partial<ResourceOptions<Record<string, unknown>>>;

/** `name: type → table` of each relation of a table. */
async function relationsOf(
  script: string,
  name: string,
  options: (table: string) => Options = () => ({}),
): Promise<readonly string[]> {
  return (await allRelations(script, options)).get(name) ?? [];
}

/** The same of all tables, which are served in the reverse order where `reversed`. */
async function allRelations(
  script: string,
  options: (table: string) => Options = () => ({}),
  reversed = false,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const db = await openDatabase("sqlite::memory:");
  try {
    await runScript(db.driver, script);
    const { tables } = await db.introspect();
    const definitions = served(reversed ? tables.toReversed() : tables, options);
    const resolved = resolveRelations(definitions, db.driver);
    return new Map([...resolved].map(([{ table }, relations]) => [
      requireTableInfo(table).name,
      [...relations.values()].map(({ name, type, target }) => `${name}: ${type} ${target.name}`),
    ]));
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
    "ReportsToEmployee: belongsTo Employee",
    "EmployeeByReportsTo: hasMany Employee",
  ]);
  // By a key of three columns, which are called as those that they refer to.
  assertEquals(await relationsOf(mediaScripts.sqlite, "Album Track"), [
    "Album: belongsTo Album",
    "Review: hasMany Review",
  ]);
  assertEquals(await relationsOf(mediaScripts.sqlite, "Review"), [
    "Album Track: belongsTo Album Track",
  ]);
});

const clashing = `
CREATE TABLE team (id INTEGER PRIMARY KEY, name TEXT, lead_id INT REFERENCES person, star_id INT,
  FOREIGN KEY (star_id) REFERENCES person (id));
CREATE TABLE person (id INTEGER PRIMARY KEY, team_id INT REFERENCES team, team TEXT, _id INT
  REFERENCES team, weight REAL REFERENCES scale (weight), "a.b" INT REFERENCES team);
CREATE TABLE scale (id INTEGER PRIMARY KEY, weight REAL UNIQUE);
CREATE TABLE __proto__ (id INTEGER PRIMARY KEY, person INT REFERENCES person);`;

Deno.test("names that clash with columns or each other become distinct, whatever the order", async () => {
  for (const reversed of [false, true]) {
    const relations = await allRelations(clashing, undefined, reversed);
    assertEquals(relations.get("team")?.toSorted(), [
      "lead: belongsTo person",
      "person: hasMany person",
      "person_by_a_b: hasMany person",
      "person_by_id: hasMany person",
      "star: belongsTo person",
    ]);
    assertEquals(relations.get("person")?.toSorted(), [
      "__proto__by_person: hasMany __proto__",
      "_id_to_team: belongsTo team",
      "a_b: belongsTo team",
      "team_by_lead: hasMany team",
      "team_by_star: hasMany team",
      "team_to_team: belongsTo team",
    ]);
  }
});

/** Tables as in schemas that are known, cut to their keys, and the names of their relations. */
const schemas: readonly { readonly script: string; readonly names: Record<string, string> }[] = [
  // Northwind.
  {
    script: `
CREATE TABLE Customers (CustomerID TEXT PRIMARY KEY);
CREATE TABLE Employees (EmployeeID INTEGER PRIMARY KEY, ReportsTo INT REFERENCES Employees);
CREATE TABLE Shippers (ShipperID INTEGER PRIMARY KEY);
CREATE TABLE Orders (OrderID INTEGER PRIMARY KEY, CustomerID TEXT REFERENCES Customers,
  EmployeeID INT REFERENCES Employees, ShipVia INT REFERENCES Shippers);
CREATE TABLE Products (ProductID INTEGER PRIMARY KEY);
CREATE TABLE "Order Details" (OrderID INT REFERENCES Orders, ProductID INT REFERENCES Products,
  Quantity INT NOT NULL, PRIMARY KEY (OrderID, ProductID));
CREATE TABLE Territories (TerritoryID TEXT PRIMARY KEY);
CREATE TABLE EmployeeTerritories (EmployeeID INT REFERENCES Employees, TerritoryID TEXT
  REFERENCES Territories, PRIMARY KEY (EmployeeID, TerritoryID));`,
    names: {
      Orders: "Customer Employee Shipper [Order Details]",
      // A link with a quantity is more than a link.
      Products: "[Order Details]",
      Employees:
        "ReportsToEmployee [Orders] [EmployeeTerritories] [EmployeesByReportsTo] [Territories]",
      Territories: "[EmployeeTerritories] [Employees]",
    },
  },
  // Django.
  {
    script: `
CREATE TABLE auth_user (id INTEGER PRIMARY KEY, username TEXT);
CREATE TABLE blog_post (id INTEGER PRIMARY KEY, author_id INT REFERENCES auth_user,
  editor_id INT REFERENCES auth_user, user_id INT REFERENCES auth_user);
CREATE TABLE blog_post_likes (id INTEGER PRIMARY KEY, post_id INT REFERENCES blog_post,
  user_id INT REFERENCES auth_user);`,
    names: {
      blog_post: "author editor user [blog_post_likes]",
      auth_user: "[blog_post] [blog_post_likes] [blog_post_by_author] [blog_post_by_editor]",
    },
  },
  // AdventureWorks on Postgres.
  {
    script: `
CREATE TABLE product (productid INTEGER PRIMARY KEY);
CREATE TABLE address (addressid INTEGER PRIMARY KEY);
CREATE TABLE salesterritory (territoryid INTEGER PRIMARY KEY);
CREATE TABLE businessentity (businessentityid INTEGER PRIMARY KEY);
CREATE TABLE person (businessentityid INTEGER PRIMARY KEY REFERENCES businessentity);
CREATE TABLE salesorderheader (salesorderid INTEGER PRIMARY KEY, billtoaddressid INT REFERENCES
  address, shiptoaddressid INT REFERENCES address, territoryid INT REFERENCES salesterritory,
  salespersonid INT REFERENCES person);
CREATE TABLE salesorderdetail (id INTEGER PRIMARY KEY, salesorderid INT REFERENCES
  salesorderheader, productid INT REFERENCES product);`,
    names: {
      salesorderdetail: "salesorder product",
      salesorderheader: "billtoaddress shiptoaddress territory salesperson [salesorderdetail]",
      address: "[salesorderheader_by_billtoaddress] [salesorderheader_by_shiptoaddress]",
      salesterritory: "[salesorderheader]",
      person: "businessentity [salesorderheader]",
    },
  },
  // Sakila: two languages of a film, and a circle between staff and store.
  {
    script: `
CREATE TABLE language (language_id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE film (film_id INTEGER PRIMARY KEY, language_id INT REFERENCES language,
  original_language_id INT REFERENCES language);
CREATE TABLE actor (actor_id INTEGER PRIMARY KEY);
CREATE TABLE film_actor (actor_id INT REFERENCES actor, film_id INT REFERENCES film,
  last_update TIMESTAMP NOT NULL, PRIMARY KEY (actor_id, film_id));
CREATE TABLE store (store_id INTEGER PRIMARY KEY, manager_staff_id INT REFERENCES staff);
CREATE TABLE staff (staff_id INTEGER PRIMARY KEY, store_id INT REFERENCES store);
CREATE TABLE inventory (inventory_id INTEGER PRIMARY KEY, film_id INT REFERENCES film,
  store_id INT REFERENCES store);`,
    names: {
      language: "[film] [film_by_original_language]",
      film: "language original_language [film_actor] [inventory] [actor]",
      actor: "[film_actor] [film]",
      store: "manager_staff [staff] [inventory]",
      staff: "store [store_by_manager_staff]",
    },
  },
  // The columns are called in as many ways as there are.
  {
    script: `
CREATE TABLE users (id INTEGER PRIMARY KEY, created_by INT REFERENCES users,
  updated_by INT REFERENCES users);
CREATE TABLE categories (id INTEGER PRIMARY KEY, parent_id INT REFERENCES categories);
CREATE TABLE addresses (id INTEGER PRIMARY KEY);
CREATE TABLE grids (id INTEGER PRIMARY KEY);
CREATE TABLE items (id INTEGER PRIMARY KEY REFERENCES grids, fk_user INT REFERENCES users, id_category
  INT REFERENCES categories, billingAddressId INT REFERENCES addresses, "ShippingAddressID" INT
  REFERENCES addresses, uid INT REFERENCES users, owner_fk INT REFERENCES users, "home address id"
  INT REFERENCES addresses, fkAddress INT REFERENCES addresses, grid INT REFERENCES grids);
CREATE TABLE follows (follower_id INT REFERENCES users, followee_id INT REFERENCES users,
  PRIMARY KEY (follower_id, followee_id));`,
    names: {
      users: "created_by_user updated_by_user [items] [items_by_owner] [items_by_uid] " +
        "[follows_by_follower] [follows_by_followee] [users_by_created_by] [users_by_updated_by] " +
        "[followee] [follower]",
      categories: "parent [items] [categories_by_parent]",
      items: "id_to_grid user category billingAddress ShippingAddress uid_to_user owner " +
        "[home address] address grid_to_grid",
    },
  },
];

Deno.test("relations of schemas that are known have readable names, whatever the order", async () => {
  for (const { script, names } of schemas) {
    for (const reversed of [false, true]) {
      const relations = await allRelations(script, undefined, reversed);
      for (const [table, expected] of Object.entries(names)) {
        const shown = (relations.get(table) ?? []).map((relation) => {
          const [name = "", rest = ""] = relation.split(": ");
          return rest.startsWith("belongsTo") && !name.includes(" ") ? name : `[${name}]`;
        });
        const sorted = (list: readonly string[]) => list.toSorted().join(" ");
        const wanted = expected.match(/\[.*?\]|\S+/g) ?? [];
        assertEquals(sorted(shown), sorted(wanted), table);
      }
    }
  }
});

Deno.test("a table that is added leaves the names of relations as they are", async () => {
  for (const { script } of schemas) {
    const before = await allRelations(script);
    const [name = "", ...others] = before.keys();
    const references = [name, ...others].map((one) => `"${one}_ref" INT REFERENCES "${one}"`);
    const added = `${script}\nCREATE TABLE added (id INTEGER PRIMARY KEY, ${
      references.join(", ")
    })`;
    const after = await allRelations(added);
    for (const [table, relations] of before) {
      assertEquals(after.get(table)?.filter((one) => !one.includes("added")), relations);
    }
  }
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
  more: (db: Database) => Partial<ResourceOptions<typeof teams.$inferSelect>> = () => ({}),
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
