import { assert, assertEquals } from "@std/assert";
import { beginEpoch, copyFiles, requireUnused } from "../../src/engines/backup_files.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { scratchFolder } from "../support/scratch.ts";
import { Follower, serve } from "./restore_support.ts";

/** How a file comes back, while nothing has it open or while a service does. */
interface Restore {
  readonly name: string;
  readonly isRunning: boolean;
  take(path: string, copy: string): Promise<void> | void;
  restore(path: string, copy: string): Promise<void> | void;
}

const vacuumInto = (path: string, copy: string) => execute(path, `VACUUM INTO '${copy}'`);
const restores: readonly Restore[] = [
  {
    name: "moved to the place of the file",
    isRunning: false,
    take: vacuumInto,
    restore: async (path, copy) => {
      await removeLogs(path);
      await Deno.copyFile(copy, `${copy}.new`);
      await Deno.rename(`${copy}.new`, path);
    },
  },
  {
    name: "copied over the file",
    isRunning: false,
    take: vacuumInto,
    restore: async (path, copy) => {
      await removeLogs(path);
      await Deno.copyFile(copy, path);
    },
  },
  {
    name: "put back with its write-ahead log",
    isRunning: false,
    take: async (path, copy) => {
      await Deno.copyFile(path, copy);
      for (const end of ["-wal", "-shm"]) {
        await Deno.copyFile(path + end, copy + end).catch(() => {});
      }
    },
    restore: async (path, copy) => {
      await removeLogs(path);
      for (const end of ["", "-wal"]) await Deno.copyFile(copy + end, path + end).catch(() => {});
    },
  },
  {
    name: "copied and restored as the command line does it",
    isRunning: false,
    take: async (path, copy) => void await copyFiles([{ path, copy }], () => 0),
    restore: async (path, copy) => {
      requireUnused(path);
      beginEpoch(copy, systemRuntime(() => {}).random);
      await Deno.rename(copy, path);
    },
  },
  { name: "restored page by page", isRunning: true, take: vacuumInto, restore: restorePages },
];

/** What is written after the restore, in the place of three changes that were lost. */
const laterWrites: readonly (readonly string[])[] = [
  [],
  ["UPDATE notes SET title = 'z' WHERE id = 3"],
  // As many changes as were lost, also the very same last one.
  [
    "UPDATE notes SET title = 'z' WHERE id = 3",
    "DELETE FROM notes WHERE id = 2",
    "INSERT INTO notes VALUES (4, 'new')",
  ],
  Array.from({ length: 5 }, (_, n) => `UPDATE notes SET title = 'z${n}' WHERE id = 3`),
];

for (const scheme of ["sqlite", "node-sqlite"]) {
  for (const { name, isRunning, take, restore } of restores) {
    Deno.test(`a client of before begins again after a backup was ${name} (${scheme})`, async () => {
      for (const writes of laterWrites) {
        await using folder = await scratchFolder();
        const [path, copy] = [`${folder.path}/notes.db`, `${folder.path}/copy.db`];
        const first = await serve(`${scheme}:${path}`);
        await first.run("INSERT INTO notes VALUES (1, 'a'), (2, 'a'), (3, 'a')");
        const follower = await Follower.open(first);
        await take(path, copy);
        await first.run("UPDATE notes SET title = 'b' WHERE id = 1");
        await first.run("UPDATE notes SET title = 'b' WHERE id = 2");
        await first.run("INSERT INTO notes VALUES (4, 'new')");
        await follower.receive(4);
        if (!isRunning) {
          await follower.disconnect();
          await first.close();
        }
        await restore(path, copy);
        if (writes.length > 0) await execute(path, ...writes);
        const second = isRunning ? first : await serve(`${scheme}:${path}`);
        if (!isRunning) await follower.connect(second);
        await follower.until(() => follower.invalidations.length > 0);
        await follower.compare(second);
        assertEquals(follower.invalidations, ["history_lost"], `${writes}`);
        await follower.disconnect();
        await second.close();
      }
    });
  }

  Deno.test(`a client that has all of a restored file begins again once another position proves the restore (${scheme})`, async () => {
    await using folder = await scratchFolder();
    const [path, copy] = [`${folder.path}/notes.db`, `${folder.path}/copy.db`];
    const first = await serve(`${scheme}:${path}`);
    await first.run("INSERT INTO notes VALUES (1, 'a')");
    const [early, late] = [await Follower.open(first), await Follower.open(first)];
    await early.disconnect();
    await vacuumInto(path, copy);
    await first.run("INSERT INTO notes VALUES (2, 'lost')");
    await late.receive(2);
    await late.disconnect();
    await first.close();
    await removeLogs(path);
    await Deno.rename(copy, path);
    const second = await serve(`${scheme}:${path}`);
    await early.connect(second);
    await early.compare(second);
    assertEquals(early.invalidations, []);
    await late.connect(second);
    await late.until(() => late.invalidations.length > 0);
    await early.until(() => early.invalidations.length > 0);
    for (const follower of [early, late]) {
      await follower.compare(second);
      assertEquals(follower.invalidations, ["history_lost"]);
      await follower.disconnect();
    }
    await second.close();
  });

  Deno.test(`without a restore a client resumes where it was, whatever happened in between (${scheme})`, async () => {
    const between: readonly ((path: string) => Promise<void> | void)[] = [
      () => {},
      (path) => execute(path, "INSERT INTO notes VALUES (7, 'by another program')"),
      (path) => execute(path, "VACUUM"),
      (path) => execute(path, "PRAGMA wal_checkpoint(TRUNCATE)"),
      // All changes are older than they are kept.
      (path) => execute(path, `UPDATE "_service_changes" SET at = 0`),
      (path) => Deno.rename(path, `${path}.moved`).then(() => Deno.rename(`${path}.moved`, path)),
    ];
    await using folder = await scratchFolder();
    const path = `${folder.path}/notes.db`;
    let service = await serve(`${scheme}:${path}`);
    await service.run("INSERT INTO notes VALUES (1, 'a'), (2, 'a')");
    const follower = await Follower.open(service);
    for (const [round, happen] of between.entries()) {
      await service.run(`INSERT INTO notes VALUES (${100 + round}, 'x')`);
      await follower.receive(100 + round);
      await follower.disconnect();
      // Another worker has the file open all the time.
      const worker = await serve(`${scheme}:${path}`);
      await service.close();
      await happen(path);
      await worker.upkeep();
      service = await serve(`${scheme}:${path}`);
      await worker.run(`INSERT INTO notes VALUES (${200 + round}, 'x')`);
      await worker.close();
      await follower.connect(service);
      await follower.compare(service);
    }
    assertEquals(follower.invalidations, []);
    assertEquals(follower.faults, []);
    await follower.disconnect();
    await service.close();
  });

  Deno.test(`a log of before there were marks gets them, and its clients begin again once (${scheme})`, async () => {
    await using folder = await scratchFolder();
    const path = `${folder.path}/notes.db`;
    let service = await serve(`${scheme}:${path}`);
    await service.run("INSERT INTO notes VALUES (1, 'a')");
    const follower = await Follower.open(service);
    for (const expected of [["history_lost"], ["history_lost"]]) {
      await follower.disconnect();
      await service.close();
      if (follower.invalidations.length === 0) {
        await execute(path, `ALTER TABLE "_service_changes" DROP COLUMN mark`);
      }
      service = await serve(`${scheme}:${path}`);
      await follower.connect(service);
      await service.run("UPDATE notes SET title = title || 'b'");
      await follower.compare(service);
      assertEquals(follower.invalidations, expected);
    }
    await follower.disconnect();
    await service.close();
  });
}

/**
 * Another program writes to the file: in a process of its own, because two libraries of SQLite in
 * one process take the locks of each other.
 */
function execute(path: string, ...texts: readonly string[]): Promise<void> {
  return runProgram(`
    const database = new DatabaseSync(${JSON.stringify(path)});
    database.exec("PRAGMA busy_timeout = 5000");
    for (const text of ${JSON.stringify(texts)}) database.exec(text);
    database.close();`);
}

/** As `.restore` of the command line of SQLite, into a file that others have open. */
function restorePages(path: string, copy: string): Promise<void> {
  return runProgram(`
    const source = new DatabaseSync(${JSON.stringify(copy)});
    await backup(source, ${JSON.stringify(path)});
    source.close();`);
}

async function runProgram(text: string): Promise<void> {
  const code = `import { backup, DatabaseSync } from "node:sqlite";${text}`;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", code],
  }).output();
  assert(success, new TextDecoder().decode(stderr));
}

/** A log of the old file beside the new one would be replayed into it. */
async function removeLogs(path: string): Promise<void> {
  for (const end of ["-wal", "-shm"]) await Deno.remove(path + end).catch(() => {});
}
