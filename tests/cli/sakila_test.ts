import { assert, assertEquals } from "@std/assert";
import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { all } from "../../src/filter/builders.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import type { ResourceOptions } from "../../src/resource/model/resource_options.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import type { ColumnInfo, TableInfo } from "../../src/schema/table_info.ts";
import { run, scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import type { Database } from "../../src/db/database.ts";

const sakilaPath = Deno.env.get("SAKILA_SQLITE");

/**
 * Tables as in Sakila for SQLite: their names and types, and a trigger on each that sets
 * `last_update` after every insert and update. Columns that end in `?` may be NULL.
 */
const shape: readonly (readonly [string, string])[] = [
  ["actor", "actor_id numeric, first_name VARCHAR(45), last_name VARCHAR(45)"],
  ["country", "country_id SMALLINT, country VARCHAR(50)"],
  ["city", "city_id INT, city VARCHAR(50), country_id SMALLINT > country"],
  [
    "address",
    "address_id INT, address VARCHAR(50), address2? VARCHAR(50), district VARCHAR(20), city_id INT > city, postal_code? VARCHAR(10), phone VARCHAR(20)",
  ],
  ["language", "language_id SMALLINT, name CHAR(20)"],
  ["category", "category_id SMALLINT, name VARCHAR(25)"],
  [
    "film",
    "film_id INT, title VARCHAR(255), description? BLOB SUB_TYPE TEXT, release_year? VARCHAR(4), language_id SMALLINT > language, rental_duration SMALLINT, rental_rate DECIMAL(4.2), length? SMALLINT, replacement_cost DECIMAL(5.2), rating? VARCHAR(10), special_features? VARCHAR(100)",
  ],
  ["film_actor", "actor_id INT > actor, film_id INT > film"],
  ["film_category", "film_id INT > film, category_id SMALLINT > category"],
  ["film_text", "film_id SMALLINT, title VARCHAR(255), description? BLOB SUB_TYPE TEXT"],
  ["store", "store_id INT, manager_staff_id SMALLINT, address_id INT > address"],
  [
    "staff",
    "staff_id SMALLINT, first_name VARCHAR(45), last_name VARCHAR(45), address_id INT > address, picture? BLOB, email? VARCHAR(50), store_id INT > store, active SMALLINT, username VARCHAR(16), password? VARCHAR(40)",
  ],
  [
    "customer",
    "customer_id INT, store_id INT > store, first_name VARCHAR(45), last_name VARCHAR(45), email? VARCHAR(50), address_id INT > address, active CHAR(1), create_date TIMESTAMP",
  ],
  ["inventory", "inventory_id INT, film_id INT > film, store_id INT > store"],
  [
    "rental",
    "rental_id INT, rental_date TIMESTAMP, inventory_id INT > inventory, customer_id INT > customer, return_date? TIMESTAMP, staff_id SMALLINT > staff",
  ],
  [
    "payment",
    "payment_id int, customer_id INT > customer, staff_id SMALLINT > staff, rental_id? INT > rental, amount DECIMAL(5,2), payment_date TIMESTAMP",
  ],
];

const links = new Set(["film_actor", "film_category"]);

function statementsOf([table, list]: readonly [string, string]): readonly string[] {
  const columns = list.split(/, (?=\w+\??\s)/);
  const key = columns.slice(0, links.has(table) ? 2 : 1).map((column) => column.split(" ")[0]);
  const declared = columns.map((column) => {
    const [, name = "", open = "", type = "", target] =
      /^(\w+)(\??) (.*?)(?: > (\w+))?$/.exec(column) ?? [];
    const refers = target === undefined ? "" : ` REFERENCES ${target} (${target}_id)`;
    return `${name} ${type}${open === "" ? " NOT NULL" : " DEFAULT NULL"}${refers}`;
  });
  const stamp = (event: string) =>
    `CREATE TRIGGER ${table}_trigger_${event[0]} AFTER ${event} ON ${table} BEGIN
      UPDATE ${table} SET last_update = DATETIME('NOW') WHERE rowid = new.rowid; END`;
  return [
    `CREATE TABLE ${table} (${declared.join(", ")}, last_update TIMESTAMP NOT NULL,
      PRIMARY KEY (${key.join(", ")}))`,
    stamp("INSERT"),
    stamp("UPDATE"),
  ];
}

for (const scheme of ["sqlite", "node-sqlite"]) {
  for (const mode of ["triggers", "service"] as const) {
    Deno.test(`tables whose triggers keep last_update are written by HTTP (${scheme}, ${mode})`, async () => {
      const db = await openDatabase(`${scheme}::memory:`);
      for (const table of shape) {
        for (const text of statementsOf(table)) await run(db, text);
      }
      await writeByHttp(db, mode, "create");
    });
  }
  testUnless(
    sakilaPath === undefined ? "SAKILA_SQLITE names no file" : null,
    `the tables of Sakila are written by HTTP (${scheme})`,
    async () => {
      await using folder = await scratchFolder();
      await Deno.copyFile(sakilaPath ?? "", `${folder.path}/sakila.db`);
      const db = await openDatabase(`${scheme}:${folder.path}/sakila.db`);
      await writeByHttp(db, "triggers", "change");
    },
  );
}

/** Creates rows or uses existing ones, changes one of each table, and checks the change log. */
async function writeByHttp(
  db: Database,
  mode: "triggers" | "service",
  rows: "create" | "change",
): Promise<void> {
  const { tables } = await db.introspect();
  const right = () => all();
  const rights = { read: right, subscribe: right, create: right, update: right, delete: right };
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    changes: { mode },
    runtime: systemRuntime(() => {}),
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: tables.map((table) => {
      const options: ResourceOptions<Record<string, unknown>> = {
        id: table.primaryKey.map(({ name }) => name),
        auth: rights,
      };
      return resource(table, options);
    }),
  });
  const send = async (method: string, path: string, body: unknown, status: number) => {
    const answer = await app.fetch(
      new Request(`http://test/api/${path}`, {
        method,
        headers: body === undefined ? {} : { "content-type": "application/json" },
        body: body === undefined ? null : JSON.stringify(body),
      }),
    );
    const text = await answer.text();
    assertEquals([answer.status, method, path], [status, method, path], text);
    return text === "" ? {} : JSON.parse(text);
  };
  const ordered = rows === "create" ? shape.map(([name]) => tableOf(tables, name)) : tables;
  assert(ordered.length >= 16);
  for (const table of ordered) {
    const path = table.name;
    if (rows === "create") {
      const created = await send("POST", path, bodyOf(table.columns), 201);
      assert(created.last_update !== null);
    }
    const { items: [item] } = await send("GET", `${path}?limit=1`, undefined, 200);
    if (item === undefined) continue;
    const id = table.primaryKey.map(({ name }) => encodeURIComponent(String(item[name]))).join("/");
    const column = table.columns.find(({ name, primaryKey }) =>
      !primaryKey && name !== "last_update"
    );
    const patch = column === undefined
      ? { last_update: item.last_update }
      : { [column.name]: item[column.name] };
    await send("PATCH", `${path}/${id.replaceAll("/", ",")}`, patch, 200);
    const { rows: recorded } = await run(
      db,
      `SELECT op FROM "_service_changes" WHERE "table" = ? COLLATE NOCASE AND op <> 'touch'`,
      table.name,
    );
    // Each write and the update by its trigger; the update of the first trigger fires another.
    const updates = rows === "create" ? ["insert", "update", "update"] : [];
    assertEquals(recorded.map(([op]) => op), [...updates, "update", "update"], table.name);
  }
  await app.close();
}

function tableOf(tables: readonly TableInfo[], wanted: string): TableInfo {
  const table = tables.find(({ name }) => name === wanted);
  assert(table !== undefined, wanted);
  return table;
}

function bodyOf(columns: readonly ColumnInfo[]): Record<string, unknown> {
  return Object.fromEntries(
    columns.filter(({ notNull }) => notNull).map((column) => [column.name, valueOf(column)]),
  );
}

function valueOf({ kind }: ColumnInfo): unknown {
  switch (kind) {
    case "timestamp":
      return "2024-01-01T00:00:00Z";
    case "decimal":
      return "1";
    case "integer":
    case "bigint":
      return 1;
    default:
      return "1";
  }
}
