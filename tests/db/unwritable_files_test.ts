import { DatabaseSync } from "node:sqlite";
import { dirname } from "node:path";
import { assertEquals, assertMatch } from "@std/assert";
import { openDatabase } from "../../src/engines/open_database.ts";
import { type Child, startChild } from "../serve/child_process.ts";
import { diskFolder } from "../support/disk.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { withoutPrivilege } from "../support/without_privilege.ts";

const cli = new URL("../../cli.ts", import.meta.url).pathname;
const missing = withoutPrivilege === null
  ? "there is no setpriv for a process without privileges"
  : null;

/** A file in a folder that the service may not write, in each state that a program can leave. */
interface Place {
  readonly path: string;
  /** Runs a statement as another program that may write. */
  run(text: string): void;
  /** Copies the file and the journal of a transaction that has not reached the file. */
  leaveJournal(mode: string): void;
  serve(...options: readonly string[]): Child;
}

function test(name: string, work: (place: Place) => Promise<void>): void {
  testUnless(missing, name, async () => {
    // Deno lets no program without all permissions into the folders in memory.
    await using folder = await scratchFolder({ dir: diskFolder });
    const path = `${folder.path}/a.db`;
    const run = (text: string) => {
      Deno.chmodSync(folder.path, 0o755);
      using db = new DatabaseSync(path);
      db.exec(text);
      Deno.chmodSync(folder.path, 0o555);
    };
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 'first')");
    try {
      await work({
        ...{ path, run },
        leaveJournal(mode) {
          Deno.chmodSync(folder.path, 0o755);
          const [other, journal] = [`${folder.path}/b.db`, mode === "WAL" ? "-wal" : "-journal"];
          using db = new DatabaseSync(other);
          db.exec(`PRAGMA journal_mode = ${mode}; PRAGMA cache_size = 1; CREATE TABLE t (v);
            BEGIN; WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
            INSERT INTO t SELECT printf('%99d', i) FROM n`);
          if (mode === "WAL") db.exec("COMMIT");
          for (const end of ["", journal]) Deno.copyFileSync(other + end, path + end);
          Deno.chmodSync(folder.path, 0o555);
        },
        serve: (...options) =>
          startChild([cli, path, "--port", "0", ...options], { startedBy: withoutPrivilege ?? [] }),
      });
    } finally {
      await Deno.chmod(folder.path, 0o755);
    }
  });
}

test("a file in WAL mode is read without a journal, until another program changes it", async (place) => {
  place.run("PRAGMA journal_mode = WAL");
  await using child = place.serve();
  const [, url = ""] = await child.printed(/(http:\S+\/api\/t)\n/);
  await child.logged(/cannot be written, so the service reads the file without its journal/);
  assertEquals(await ask(url), [200, '{"items":[{"id":1,"v":"first"}],"nextCursor":null']);
  place.run("UPDATE t SET v = 'second'");
  let [status] = await ask(url);
  // The service looks at the file ten times a second.
  while (status === 200) [status] = await ask(url);
  assertEquals(status, 503);
  await child.logged(/was changed or replaced while it was open/);
});

test("a file without a journal is read as usual", async (place) => {
  await using child = place.serve();
  const [, url = ""] = await child.printed(/(http:\S+\/api\/t)\n/);
  assertEquals((await ask(url))[0], 200);
  assertEquals(child.stderr().includes("without its journal"), false);
});

test("without all permissions, a file in WAL mode was said to be unreadable", async (place) => {
  place.run("PRAGMA journal_mode = WAL");
  const module = new URL("../../src/engines/open_database.ts", import.meta.url).href;
  const program = `import { openDatabase } from "${module}";
    await openDatabase("node-sqlite:${place.path}", { readOnly: true });`;
  await using child = startChild(
    ["--config", new URL("../../deno.json", import.meta.url).pathname, dataUrl(program)],
    { startedBy: withoutPrivilege ?? [], permissions: ["--no-check", "--allow-read"] },
  );
  assertEquals(await child.ended(), 1);
  assertMatch(child.stderr(), /in WAL mode .*, and the process lacks the permissions \(-A\)/);
});

const dataUrl = (program: string) => `data:application/typescript,${encodeURIComponent(program)}`;

test("a file that may not be read ends with the reason", async (place) => {
  await Deno.chmod(place.path, 0o000);
  await using child = place.serve();
  assertEquals(await child.ended(), 2);
  assertMatch(child.stderr(), /Cannot open .*a.db: this user may not read it/);
});

for (const mode of ["WAL", "DELETE"]) {
  test(`changes that are only in a journal are never left out (${mode})`, async (place) => {
    place.leaveJournal(mode);
    await using child = place.serve();
    assertEquals(await child.ended(), 2);
    assertMatch(child.stderr(), /Cannot open .*a.db: it needs the changes in .*a.db-(wal|journal)/);
  });

  test(`a file that cannot be written is not opened with --write (${mode})`, async (place) => {
    place.run(`PRAGMA journal_mode = ${mode}`);
    await using child = place.serve("--write");
    assertEquals(await child.ended(), 2);
    assertMatch(child.stderr(), /Cannot open .*a.db: .* cannot be written; open it read-only\n$/);
  });
}

test("a protected file that another program has open was opened for writing, and every write failed", async (place) => {
  place.run("PRAGMA journal_mode = WAL");
  Deno.chmodSync(dirname(place.path), 0o755);
  using other = new DatabaseSync(place.path);
  other.exec("INSERT INTO t (v) VALUES ('second')");
  for (const end of ["", "-wal", "-shm"]) Deno.chmodSync(place.path + end, 0o444);
  const module = new URL("../../src/engines/open_database.ts", import.meta.url).href;
  for (const library of ["sqlite", "node-sqlite"]) {
    const program = `import { openDatabase } from "${module}";
      const db = await openDatabase("${library}:${place.path}");
      await db.close();`;
    const config = new URL("../../deno.json", import.meta.url).pathname;
    await using child = startChild(["--no-check", "--config", config, dataUrl(program)], {
      startedBy: withoutPrivilege ?? [],
    });
    assertEquals(await child.ended(), 1);
    assertMatch(child.stderr(), /Cannot open .*a.db: .* cannot be written; open it read-only/);
  }
});

Deno.test("a killed program's transaction is undone in a folder that can be written", async () => {
  await using folder = await scratchFolder();
  const [other, path] = [`${folder.path}/b.db`, `${folder.path}/a.db`];
  using db = new DatabaseSync(other);
  db.exec(`PRAGMA cache_size = 1; CREATE TABLE t (v); INSERT INTO t VALUES ('first');
    BEGIN; WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
    INSERT INTO t SELECT printf('%99d', i) FROM n`);
  for (const library of ["sqlite", "node-sqlite"]) {
    for (const end of ["", "-journal"]) Deno.copyFileSync(other + end, path + end);
    const { driver, close } = await openDatabase(`${library}:${path}`, { readOnly: true });
    const { rows } = await driver.query({ text: "SELECT v FROM t", values: [] });
    assertEquals(rows, [["first"]]);
    // A program is killed while the file is open.
    for (const end of ["", "-journal"]) Deno.copyFileSync(other + end, path + end);
    assertEquals((await driver.query({ text: "SELECT v FROM t", values: [] })).rows, [["first"]]);
    await close();
  }
});

async function ask(url: string): Promise<readonly [number, string]> {
  const answer = await fetch(url);
  return [answer.status, (await answer.text()).replace(/,"hasMore".*/, "")];
}
