import { DatabaseSync } from "node:sqlite";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { copyFiles } from "../../src/engines/backup_files.ts";
import { runBackupCommand } from "../../src/cli/backup/run_backup_command.ts";
import { runRestoreCommand } from "../../src/cli/backup/run_restore_command.ts";
import { startChild } from "../serve/child_process.ts";
import { diskFolder } from "../support/disk.ts";
import { scratchFolder } from "../support/scratch.ts";
import { checkBackups } from "./backup_rounds.ts";

const program = new URL("../../cli.ts", import.meta.url).pathname;

/** Writes pairs until it is stopped: a row, and then the same number into the key-value store. */
const writer = `
  import { DatabaseSync } from "node:sqlite";
  const file = new DatabaseSync("shop.db", { timeout: 5000 });
  file.exec("PRAGMA journal_mode = WAL; CREATE TABLE pairs (n INTEGER PRIMARY KEY, filler TEXT)");
  const kv = await Deno.openKv("service.kv");
  for (let n = 1; ; n++) {
    file.prepare("INSERT INTO pairs VALUES (?, ?)").run(n, "x".repeat(2000));
    await kv.set(["n"], n);
    if (n === 50) console.log("writing");
  }
`;

Deno.test("a backup was newer in one file than in the other", async () => {
  await using folder = await scratchFolder({ dir: diskFolder });
  const at = (name: string) => `${folder.path}/${name}`;
  await Deno.writeTextFile(at("writer.ts"), writer);
  await using child = startChild(["--unstable-kv", "--no-config", "writer.ts"], {
    cwd: folder.path,
  });
  await child.printed(/writing/);
  for (let n = 0; n < 20; n++) {
    const files = ["shop.db", "service.kv"].map((name) => ({
      ...{ path: at(name), copy: at(`${n}-${name}`) },
    }));
    await copyFiles(files, () => 0);
    const file = new DatabaseSync(at(`${n}-shop.db`), { readOnly: true });
    const rows = Number(file.prepare("SELECT max(n) AS n FROM pairs").get()?.n);
    file.close();
    using kv = await Deno.openKv(at(`${n}-service.kv`));
    const { value } = await kv.get<number>(["n"]);
    assert(value === rows || value === rows - 1, `row ${rows}, and ${value} in the store`);
  }
  child.signal("SIGKILL");
  await child.ended();
});

Deno.test("rows, credits and sessions of a restored backup are of one moment, and streams begin again", async () => {
  const { streams, refused } = await checkBackups(2);
  assertEquals([streams, refused], [4, 6]);
});

Deno.test("a writer that keeps its lock ends a backup, and nothing is left of it", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/shop.db`;
  const holder = new DatabaseSync(path);
  holder.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (n); BEGIN IMMEDIATE");
  const copy = `${folder.path}/copy.db`;
  await assertRejects(() => copyFiles([{ path, copy }], () => 0, 10), Error, "is locked");
  holder.close();
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["shop.db"]);
});

Deno.test("backup and restore of a service, as an operator uses them", async () => {
  await using folder = await scratchFolder({ dir: diskFolder });
  const at = (name: string) => `${folder.path}/${name}`;
  const cli = async (...args: string[]) => {
    await using child = startChild(["--unstable-kv", program, ...args], { cwd: folder.path });
    const code = await child.ended();
    return { code, output: child.stdout() + child.stderr() };
  };
  const made = new DatabaseSync(at("shop.db"));
  made.exec(
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO notes VALUES (1, 'a')",
  );
  made.close();
  await using service = startChild(
    ["--unstable-kv", program, "shop.db", "--write", "--users", "--port", "0"],
    { cwd: folder.path },
  );
  const [, url = ""] = await service.printed(/(http:\/\/[^/]+)\/api\/notes/);
  const epoch = epochOf(at("shop.db"));

  const done = await cli("backup", "kept", "shop.db");
  assertMatch(
    done.output,
    /^Backed up shop\.db .* and service\.kv .*; writers waited for \d+ ms\n/,
  );
  const [name = ""] = [...Deno.readDirSync(at("kept"))].map((entry) => entry.name);
  assertMatch(name, /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/);
  const modes = [...Deno.readDirSync(at(`kept/${name}`))]
    .map((entry) => (Deno.statSync(at(`kept/${name}/${entry.name}`)).mode ?? 0) & 0o777);
  assertEquals(modes, [0o600, 0o600, 0o600]);

  const running = await cli("restore", `kept/${name}`, "--yes");
  assertEquals(running.code, 1);
  assertStringIncludes(running.output, "shop.db: another program has it open, stop that first");
  const response = await fetch(`${url}/api/notes/1`);
  assertEquals([response.status, await response.text()], [200, '{"id":1,"title":"a"}']);
  service.signal();
  await service.ended();

  const changed = new DatabaseSync(at("shop.db"));
  changed.exec("UPDATE notes SET title = 'b'");
  changed.close();
  const unasked = await cli("restore", `kept/${name}`);
  assertEquals(unasked.code, 1);
  assertStringIncludes(unasked.output, "Cannot ask without a terminal: use --yes");
  assertEquals(titleOf(at("shop.db")), "b");
  await Deno.chmod(at("shop.db"), 0o640);
  const restored = await cli("restore", `kept/${name}`, "--yes");
  assertEquals(restored.code, 0, restored.output);
  assertStringIncludes(restored.output, "All live streams start again.");
  assertEquals(titleOf(at("shop.db")), "a");
  assertEquals((Deno.statSync(at("shop.db")).mode ?? 0) & 0o777, 0o640);
  assert(epochOf(at("shop.db")) !== epoch);
  const kept = [...Deno.readDirSync(folder.path)].map((entry) => entry.name)
    .filter((entry) => /^(shop\.db|service\.kv)\.before-/.test(entry)).toSorted();
  assertEquals(kept.length, 2);
  assertEquals(titleOf(at(kept[1] ?? "")), "b");

  const manifest = at(`kept/${name}/manifest.json`);
  const text = await Deno.readTextFile(manifest);
  await Deno.writeTextFile(manifest, text.replace(/"version": "[^"]*"/, '"version": "99.0.0"'));
  assertStringIncludes((await cli("restore", `kept/${name}`)).output, "a backup of version 99.0.0");
  await Deno.writeTextFile(manifest, text);
  const torn = await Deno.open(at(`kept/${name}/shop.db`), { write: true });
  await torn.seek(5_000, Deno.SeekMode.Start);
  await torn.write(new Uint8Array([7]));
  torn.close();
  const refused = await cli("restore", `kept/${name}`, "--yes");
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.output, "its SHA-256 differs");
  await Deno.remove(at(`kept/${name}/shop.db`));
  assertStringIncludes((await cli("restore", `kept/${name}`)).output, "shop.db is missing");

  const again = await cli("backup", "kept", "shop.db", "--keep", "1", "--json");
  assertEquals(JSON.parse(again.output).removed, [name]);
  const removals = await cli("backup", "kept", "shop.db", "--keep", "1");
  assertMatch(removals.output, /^Removed kept\/\d{4}-.*Z(-2)?$/m);
  const one = await cli("backup", "kept", "shop.db", "--kv", "shop.db");
  assertStringIncludes(one.output, "is the database and the key-value store");
  assertEquals([...Deno.readDirSync(at("kept"))].length, 1);
});

Deno.test("restore replaced a link, --keep removed the backups of others, and a copy was left", async () => {
  await using folder = await scratchFolder({ dir: diskFolder });
  const at = (name: string) => `${folder.path}/${name}`;
  for (const name of ["real", "kept"]) await Deno.mkdir(at(name));
  for (const [name, title] of [["real/shop.db", "a"], ["other.db", "o"]] as const) {
    const made = new DatabaseSync(at(name));
    made.exec(`CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
      INSERT INTO notes VALUES (1, '${title}')`);
    made.close();
  }
  await Deno.symlink(at("real/shop.db"), at("shop.db"));
  (await Deno.openKv(at("service.kv"))).close();
  const backup = async (database: string, keep: number) =>
    await runBackupCommand({
      ...{ kind: "backup", folder: at("kept"), database: at(database), kv: at("service.kv") },
      ...{ config: null, keep, json: false },
    }, "0.1.0");
  const restore = async (database: string | null, kv: string | null) =>
    await runRestoreCommand({
      ...{ kind: "restore", folder: at(`kept/${first}`), database, kv, config: null, yes: true },
    }, "0.1.0");

  for (const name of ["2020-01-01T00-00-00Z", "2020-01-01T00-00-00Z.partial"]) {
    await Deno.mkdir(at(`kept/${name}`));
  }
  await backup("shop.db", 1);
  const [, first = ""] = names(at("kept"));
  await backup("other.db", 1);
  await backup("other.db", 1);
  const left = names(at("kept"));
  assertEquals([left.length, left.includes(first), left[0]], [3, true, "2020-01-01T00-00-00Z"]);

  for (let n = 0; n < 3; n++) await backup("other.db", 1);
  const last = names(at("kept"));
  assertEquals([last.length, last.includes(first), last.includes(left[2] ?? "")], [3, true, false]);

  const changed = new DatabaseSync(at("shop.db"));
  changed.exec("UPDATE notes SET title = 'b'");
  changed.close();
  // Restores in the same second keep the file that only the first one replaced.
  for (let n = 0; n < 3; n++) await restore(at("shop.db"), null);
  const before = names(at("real")).filter((name) => name.startsWith("shop.db.before-"));
  assertEquals(before.map((name) => titleOf(at(`real/${name}`))), ["b", "a", "a"]);
  assertEquals([titleOf(at("real/shop.db")), Deno.lstatSync(at("shop.db")).isSymlink], ["a", true]);
  assertEquals(names(folder.path).filter((name) => name.startsWith("service.kv.before")), []);
  await assertRejects(
    () => restore(at("service.kv"), null),
    Error,
    "by a database: it is a key-value store",
  );
  await assertRejects(() => restore("postgres://h/d", null), Error, "only SQLite files");
  await Deno.writeTextFile(at("file"), "");
  await assertRejects(() => restore(at("file/shop.db"), null), Error, "Cannot restore: ");
  await assertRejects(
    () => restore(at("other.db"), at("shop.db")),
    Error,
    "by a key-value store: it is a database",
  );
  assertEquals(names(folder.path).filter((name) => name.includes(".restoring")), []);
});

function names(folder: string): readonly string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).toSorted();
}

function epochOf(path: string): unknown {
  const file = new DatabaseSync(path, { readOnly: true });
  try {
    return file.prepare(`SELECT value FROM "_service_meta" WHERE name = 'epoch'`).get()?.value;
  } finally {
    file.close();
  }
}

function titleOf(path: string): unknown {
  const file = new DatabaseSync(path, { readOnly: true });
  try {
    return file.prepare("SELECT title FROM notes WHERE id = 1").get()?.title;
  } finally {
    file.close();
  }
}
