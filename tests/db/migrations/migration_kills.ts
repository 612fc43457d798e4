import { assertEquals } from "@std/assert";
import postgres from "postgres";
import { migrateTables } from "../../../src/db/migrations/migrate_tables.ts";
import { openDatabase } from "../../../src/engines/open_database.ts";
import { createTables } from "../../../src/db/tables/create_tables.ts";
import { trackMutations } from "../../../src/app/track_mutations.ts";
import { createScratchDatabase } from "../../support/engines.ts";
import { allowDrop, newest, trackerRows, trackerTables } from "./tracker_versions.ts";
import type { Database } from "../../../src/db/database.ts";

/** Databases that hold an older version of the tracker, each a copy of the same one. */
export interface KillRun {
  readonly copy: () => Promise<Copy>;
  readonly close: () => Promise<void>;
}

interface Copy {
  readonly url: string;
  readonly remove: () => Promise<void>;
}

/** Copies of a SQLite file with a version. */
export async function sqliteCopies(version: number): Promise<KillRun> {
  const folder = await Deno.makeTempDir();
  await fill(`sqlite:${folder}/whole.db`, version);
  let number = 0;
  return {
    async copy() {
      const path = `${folder}/${++number}.db`;
      await Deno.copyFile(`${folder}/whole.db`, path);
      return { url: `sqlite:${path}`, remove: () => Promise.resolve() };
    },
    close: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Copies of a database of a Postgres with a version. */
export async function postgresCopies(admin: string, version: number): Promise<KillRun> {
  const { url, drop } = await createScratchDatabase(admin);
  await fill(url, version);
  const name = new URL(url).pathname.slice(1);
  return {
    async copy() {
      const scratch = await createScratchDatabase(admin, name);
      return { url: scratch.url, remove: scratch.drop };
    },
    close: drop,
  };
}

async function fill(url: string, version: number): Promise<void> {
  const db = await openDatabase(url);
  const tables = trackerTables(version);
  await createTables(db.driver, tables);
  await db.query({ text: "CREATE TABLE wiki (page int)", values: [] });
  for (const text of trackerRows(version, db.dialect)) await db.query({ text, values: [] });
  await trackMutations(db, tables);
  await db.close();
}

/** The state before a migration, after one, and how many places there are to end it at. */
export interface Expected {
  readonly before: string;
  readonly after: string;
  readonly places: number;
}

/** Migrates a copy to its end. */
export async function expectedOf(run: KillRun): Promise<Expected> {
  const { url, remove } = await run.copy();
  const before = await stateOf(url);
  const { output } = await spawn(url, 0);
  const after = await stateOf(url);
  await remove();
  const [, places] = /^applied (\d+)/.exec(output) ?? [];
  return { before, after, places: Number(places) };
}

/** Ends a migration after a statement: the database is as before or after it, and can be migrated from there. */
export async function killAt(run: KillRun, expected: Expected, place: number): Promise<void> {
  const { url, remove } = await run.copy();
  const { signal } = await spawn(url, place);
  assertEquals(signal, "SIGKILL", `place ${place}`);
  const state = await stateOf(url);
  // The last place is after the commit.
  const wanted = place === expected.places ? expected.after : expected.before;
  assertEquals(state, wanted, `place ${place}`);
  const db = await openDatabase(url, { waitLimitMs: 60_000 });
  const random = { bytes: (length: number) => new Uint8Array(length) };
  const tables = trackerTables(newest);
  await migrateTables({
    ...{ driver: db.driver, tables, allowDrop, keep: [], dryRun: false, agreed: null, random },
  });
  await db.close();
  assertEquals(await stateOf(url), expected.after, `after place ${place}`);
  await remove();
}

/** Two processes that start together: one does it, and neither fails. */
export async function twoAtOnce(run: KillRun, expected: Expected): Promise<void> {
  const { url, remove } = await run.copy();
  const outputs = await Promise.all([spawn(url, 0), spawn(url, 0)]);
  assertEquals(outputs.map(({ output }) => output.replace(/ \d+\n$/, "")).sort(), [
    "applied",
    "nothing",
  ]);
  assertEquals(await stateOf(url), expected.after);
  await remove();
}

interface Ended {
  readonly output: string;
  readonly signal: Deno.Signal | null;
}

async function spawn(url: string, place: number): Promise<Ended> {
  const program = new URL("./migrate_process.ts", import.meta.url).pathname;
  const { stdout, stderr, signal, code } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", program, url, String(place)],
  }).output();
  const output = new TextDecoder().decode(stdout);
  if (signal === null && code !== 0) throw new Error(new TextDecoder().decode(stderr));
  return { output, signal };
}

/** Tables, constraints, indexes, triggers and rows, but for moments and what is drawn by chance. */
async function stateOf(url: string): Promise<string> {
  return url.startsWith("sqlite:") ? await stateOfFile(url) : await stateOfServer(url);
}

async function stateOfFile(url: string): Promise<string> {
  const db = await openDatabase(url);
  const schema = await read(
    db,
    "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name",
  );
  const rows: unknown[] = [];
  for (const [type, name] of schema) {
    if (type !== "table" || /^(?:_service_meta|_service_changes)$/.test(String(name))) continue;
    const columns = name === "_service_migrations" ? "name, checksum" : "*";
    rows.push([name, await read(db, `SELECT ${columns} FROM "${name}" ORDER BY 1`)]);
  }
  rows.push(await read(db, 'SELECT "table", op, before, after FROM _service_changes ORDER BY seq'));
  await db.close();
  return shown([schema, rows]);
}

async function read(db: Database, text: string): Promise<readonly (readonly unknown[])[]> {
  return (await db.query({ text, values: [] })).rows;
}

async function stateOfServer(url: string): Promise<string> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const parts: unknown[] = [];
  for (const text of serverState) parts.push(await sql.unsafe(text).values());
  const names = await sql`SELECT relname FROM pg_class WHERE relkind = 'r'
    AND relnamespace = 'public'::regnamespace AND relname NOT LIKE '\\_service%' ORDER BY 1`
    .values();
  for (const [name] of names) {
    parts.push([name, await sql.unsafe(`SELECT t::text FROM "${name}" t ORDER BY 1`).values()]);
  }
  await sql.end();
  return shown(parts);
}

const serverState = [
  `SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
     pg_get_expr(d.adbin, d.adrelid)
   FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
   LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' ORDER BY 1, a.attnum`,
  `SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
   WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2`,
  "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
  `SELECT tgrelid::regclass::text, tgname, tgargs FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2`,
];

function shown(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, one) => typeof one === "bigint" ? `${one}n` : one instanceof Uint8Array ? [...one] : one,
    1,
  );
}
