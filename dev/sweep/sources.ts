import { DatabaseSync } from "node:sqlite";
import { isIncomparable } from "../check_database/oracle.ts";
import { createScratchDatabase } from "../../tests/support/engines.ts";

/** A copy of a database, which a sweep may change. */
export interface Loaded {
  readonly name: string;
  readonly engine: "sqlite" | "postgres";
  /** The path or URL for the command line. */
  readonly place: string;
  /** Returns the schema, to compare it before and after. */
  schemaText(): Promise<string>;
  drop(): Promise<void>;
}

/** A database of the folder that is not loaded yet. */
export interface Source {
  readonly name: string;
  load(postgresUrl: () => Promise<string>): Promise<Loaded>;
}

/**
 * Lists the databases of a folder. `NAME.db`, `NAME.sqlite` and `NAME.sqlite3` are files of SQLite.
 * `NAME.sqlite.sql` is a script for `sqlite3`, and `NAME.sql` is a script for `psql`.
 */
export async function sourcesIn(folder: string): Promise<readonly Source[]> {
  const sources: Source[] = [];
  for await (const { name, isFile } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (!isFile) continue;
    const [, file] = /^(.+)\.(?:db|sqlite|sqlite3)$/.exec(name) ?? [];
    const [, script] = /^(.+)\.sqlite\.sql$/.exec(name) ?? [];
    const [, dump] = /^(.+)\.sql$/.exec(name) ?? [];
    if (file !== undefined) {
      sources.push({ name: file, load: () => loadFile(file, (copy) => Deno.copyFile(path, copy)) });
    } else if (script !== undefined) {
      sources.push({
        name: script,
        load: () => loadFile(script, (copy) => loadScript(path, copy)),
      });
    } else if (dump !== undefined) {
      sources.push({ name: dump, load: async (url) => await loadDump(dump, path, await url()) });
    }
  }
  return sources.sort((one, other) => one.name < other.name ? -1 : 1);
}

async function loadFile(name: string, fill: (copy: string) => Promise<void>): Promise<Loaded> {
  const folder = await Deno.makeTempDir({ prefix: "resource-api-sweep-" });
  const place = `${folder}/${name}.db`;
  await fill(place);
  return {
    ...{ name, engine: "sqlite", place },
    schemaText() {
      using db = new DatabaseSync(place, { readOnly: true });
      const rows = [
        "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name",
        "PRAGMA journal_mode",
        "PRAGMA user_version",
      ].map((text) => db.prepare(text).all());
      return Promise.resolve(JSON.stringify([rows, integrity(db)], null, 1));
    },
    drop: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Returns the errors in a file. A file with a collation of another program cannot be checked. */
function integrity(db: DatabaseSync): unknown {
  try {
    return db.prepare("PRAGMA integrity_check").all();
  } catch (error) {
    if (isIncomparable(error)) return null;
    throw error;
  }
}

async function loadScript(script: string, copy: string): Promise<void> {
  await run("sqlite3", ["-bail", copy, `.read ${script}`]);
}

async function loadDump(name: string, script: string, server: string): Promise<Loaded> {
  const { url, drop } = await createScratchDatabase(server);
  await run("psql", ["-q", "-X", "-d", url, "-f", script]);
  return {
    ...{ name, engine: "postgres", place: url, drop },
    async schemaText() {
      const text = await run("pg_dump", ["-s", "-d", url]);
      // Each dump has another random word in these lines.
      return text.replace(/^\\(?:un)?restrict .*$/gm, "");
    },
  };
}

/** Runs a program, and returns its output. Throws with its errors if it fails. */
export async function run(program: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`${program} failed: ${decoder.decode(stderr).slice(-2_000)}`);
  return decoder.decode(stdout);
}
