/** The services of `curves_bench.ts`: each has one dimension that grows. */
import {
  all,
  createApp,
  type Database,
  integer,
  openDatabase,
  resource,
  table,
  text,
} from "../../mod.ts";
import { fillNotes } from "../notes_database.ts";
import { fillPostgresNotes } from "../notes_postgres.ts";
import { notesService } from "../notes_service.ts";

/** A service in this process, and its database. */
export interface Served extends AsyncDisposable {
  readonly db: Database;
  /** Sends a GET, and returns its body. Throws unless the response succeeds. */
  get(path: string): Promise<string>;
  fetch(request: Request): Promise<Response>;
}

/** Where the databases of one engine are created. */
export interface Place {
  readonly engine: "sqlite" | "postgres";
  readonly folder: string;
  /** The URL of a Postgres server. */
  readonly server: string;
}

type Config = Parameters<typeof createApp>[0];

async function serve(config: Config, db: Database): Promise<Served> {
  const app = await createApp(config);
  return {
    db,
    async get(path) {
      const response = await app.fetch(new Request(`http://localhost/api${path}`));
      const body = await response.text();
      if (!response.ok) throw new Error(`${path}: ${body}`);
      return body;
    },
    fetch: (request) => app.fetch(request),
    [Symbol.asyncDispose]: () => app.close(),
  };
}

/** Serves a table of this many notes. */
export async function serveRows({ engine, folder, server }: Place, rows: number): Promise<Served> {
  const name = `rows_${crypto.randomUUID().slice(0, 8)}`;
  const path = `${folder}/${name}.db`;
  if (engine === "sqlite") fillNotes(path, rows);
  const url = engine === "sqlite" ? path : await fillPostgresNotes(server, name, rows);
  const config = await notesService(url);
  // `notesService` always opens a database; a function or a URL is also allowed by the type.
  return await serve(config, config.db as Database);
}

/** Serves 100 rows of this many columns, besides the key. */
export async function serveColumns(place: Place, columns: number): Promise<Served> {
  const names = Array.from({ length: columns }, (_, column) => `c${column}`);
  const wide = table(`wide_${columns}`, {
    id: integer().primaryKey(),
    ...Object.fromEntries(names.map((name) => [name, text().notNull()])),
  });
  const db = await openFresh(place, `columns_${columns}`);
  await db.createTables([wide]);
  await insertAll(
    db,
    `wide_${columns}`,
    ["id", ...names],
    100,
    (row) => [row, ...names.map((name) => `'${name} of ${row}'`)],
  );
  const auth = { public: { read: true } };
  return await serve({ ...common(db), resources: [resource(wide, { id: wide.id, auth })] }, db);
}

/** Serves four tables in a chain. Each row of a table has three rows in the next table. */
export async function serveChain(place: Place): Promise<Served> {
  const level = (depth: number) =>
    table(`level_${depth}`, {
      id: integer().primaryKey(),
      parentId: integer().notNull().as("parent_id"),
      name: text().notNull(),
    });
  const [a, b, c, d] = [level(0), level(1), level(2), level(3)];
  const db = await openFresh(place, "chain");
  await db.createTables([a, b, c, d]);
  for (let depth = 0; depth < 4; depth++) {
    const rows = 200 * 3 ** depth;
    await insertAll(
      db,
      `level_${depth}`,
      ["id", "parent_id", "name"],
      rows,
      (row) => [row, Math.ceil(row / 3), `'row ${row}'`],
    );
    await db.query({
      text: `CREATE INDEX by_parent_${depth} ON level_${depth} (parent_id)`,
      values: [],
    });
  }
  const auth = { public: { read: true } };
  const last = resource(d, { id: d.id, path: "d", auth });
  const third = resource(c, {
    ...{ id: c.id, path: "c", auth },
    relations: { below: { type: "hasMany", resource: d, foreignKey: d.parentId } },
  });
  const second = resource(b, {
    ...{ id: b.id, path: "b", auth },
    relations: { below: { type: "hasMany", resource: c, foreignKey: c.parentId } },
  });
  const first = resource(a, {
    ...{ id: a.id, path: "a", auth },
    relations: { below: { type: "hasMany", resource: b, foreignKey: b.parentId } },
  });
  return await serve({ ...common(db), resources: [first, second, third, last] }, db);
}

/** Serves a table whose rows belong to a thousand topics, for live streams. */
export async function serveTopics(place: Place): Promise<Served> {
  const topics = table("topics", {
    id: integer().primaryKey(),
    topic: integer().notNull(),
    name: text().notNull(),
  });
  const db = await openFresh(place, "topics");
  await db.createTables([topics]);
  await insertAll(db, "topics", ["id", "topic", "name"], 1_000, (row) => [row, row, "'a name'"]);
  const auth = { public: true, update: () => all() };
  const resources = [resource(topics, { id: topics.id, auth })];
  const subscribe = { maxPerAddress: 100_000, maxPerUser: 100_000 };
  return await serve({ ...common(db), subscribe, resources }, db);
}

/** Serves this many tables. */
export async function serveResources(place: Place, count: number): Promise<Served> {
  const tables = Array.from({ length: count }, (_, number) => (
    table(`t${number}`, { id: integer().primaryKey(), name: text().notNull() })
  ));
  const db = await openFresh(place, `resources_${count}`);
  await db.createTables(tables);
  await insertAll(db, "t0", ["id", "name"], 10, (row) => [row, "'a name'"]);
  const auth = { public: { read: true } };
  const resources = tables.map((one) => resource(one, { id: one.id, auth }));
  return await serve({ ...common(db), resources }, db);
}

function common(db: Database) {
  const identification = { user: { id: "bench" } };
  const auth = { use: [{ name: "bench", identify: () => identification }] };
  return { db, secret: "a secret for the benchmark", auth };
}

async function openFresh({ engine, folder, server }: Place, purpose: string): Promise<Database> {
  const name = `${purpose}_${crypto.randomUUID().slice(0, 8)}`;
  if (engine === "sqlite") return await openDatabase(`sqlite:${folder}/${name}.db`);
  const admin = await openDatabase(server);
  await admin.query({ text: `CREATE DATABASE ${name}`, values: [] });
  await admin.close();
  const url = new URL(server);
  url.pathname = `/${name}`;
  return await openDatabase(url.href);
}

async function insertAll(
  db: Database,
  name: string,
  columns: readonly string[],
  rows: number,
  valuesOf: (row: number) => readonly (string | number)[],
): Promise<void> {
  for (let from = 1; from <= rows; from += 500) {
    const tuples = Array.from(
      { length: Math.min(500, rows + 1 - from) },
      (_, index) => `(${valuesOf(from + index).join(", ")})`,
    );
    const text = `INSERT INTO ${name} (${columns.join(", ")}) VALUES ${tuples.join(", ")}`;
    await db.query({ text, values: [] });
  }
  await db.query({ text: `ANALYZE ${name}`, values: [] });
}
