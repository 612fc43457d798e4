import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { dirname } from "node:path";
import type { Driver } from "../../src/db/driver.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { CrossProcessWriteLock } from "../../src/engines/sqlite/driver/cross_process_write_lock.ts";
import { type Clock, sleep } from "../../src/runtime/runtime.ts";
import { systemClock } from "../../src/runtime/system_runtime.ts";
import { fails } from "../conformance/driver.ts";
import { type Child, type ChildOptions, startChild } from "../serve/child_process.ts";
import { diskFolder } from "../support/disk.ts";
import { gate, scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { withoutPrivilege } from "../support/without_privilege.ts";
import { handClock } from "./hand_clock.ts";

const program = new URL("write_turn_process.ts", import.meta.url).pathname;

const ends = ["-turn", "-next"];

for (const scheme of ["sqlite", "node-sqlite"]) {
  const test = (promise: string, work: (place: Place) => Promise<void>) =>
    Deno.test(`${scheme}: ${promise}`, async () => {
      await using place = await placeOf(scheme);
      await work(place);
    });

  test("of two processes one wrote nearly always, while the other one polled", async (place) => {
    const rows = 4_800;
    await writeAtOnce(place, rows);
    const writers = await place.writers();
    for (const name of ["first", "second"]) {
      assertEquals(writers.filter((writer) => writer === name).length, rows);
    }
    const both = writers.slice(
      Math.max(writers.indexOf("first"), writers.indexOf("second")),
      Math.min(writers.lastIndexOf("first"), writers.lastIndexOf("second")),
    );
    const changes = both.filter((name, at) => name !== both[at - 1]).length;
    // A commit has 16 rows at the most. It is some 500 changes with turns, and 5 without.
    assert(changes > both.length / 100, `${changes} changes of the writer in ${both.length} rows`);
    for (const end of ends) assertEquals((await Deno.stat(place.path + end)).size, 0);
  });

  test("the turn of a process that is killed goes to the one that waits", async (place) => {
    await using holder = await place.holder();
    const write = place.write();
    holder.signal("SIGKILL");
    await write;
    assertEquals(await place.writers(), ["this"]);
    await holder.ended();
    assertEquals(await place.isTaken(), false);
  });

  test("a process that is stopped with the turn alone keeps no other from writing", async (place) => {
    await using holder = place.start(place.path, "turn");
    await holder.printed(/holding/);
    holder.signal("SIGSTOP");
    for (let row = 0; row < 20; row++) await place.write();
    await place.driver.transaction(async () => assertEquals(await place.isTaken(), true));
    holder.signal("SIGCONT");
    holder.signal("SIGUSR1");
    assertEquals(await holder.ended(), 0);
    // The turn that came too late is given back.
    while (await isLocked(`${place.path}-next`)) await sleep(5);
    await place.driver.transaction(async () => assertEquals(await place.isTaken(), true));
    assertEquals(await place.isTaken(), false);
  });

  test("a process that is stopped in a transaction is waited for until the limit", async (place) => {
    await using holder = await place.holder();
    holder.signal("SIGSTOP");
    await fails(place.write(), "unavailable");
    const write = place.write();
    holder.signal("SIGCONT");
    holder.signal("SIGUSR1");
    await write;
    assertEquals(await holder.ended(), 0);
    assertEquals(await place.writers(), ["holder", "this"]);
  });

  test("a database closes although a turn is awaited that does not come", async (place) => {
    await using holder = await place.holder();
    holder.signal("SIGSTOP");
    await fails(place.write(), "unavailable");
    await place.driver.close();
    assertEquals(await place.isTaken(), true);
    holder.signal("SIGCONT");
    holder.signal("SIGUSR1");
    assertEquals(await holder.ended(), 0);
    while (await isLocked(`${place.path}-next`)) await sleep(5);
    assertEquals(await place.isTaken(), false);
  });

  test("without permission for the files of the turn there is one notice, and all is written", async (place) => {
    const files = ["", "-wal", "-shm", "-journal"].map((end) => place.path + end);
    const permissions = scheme === "sqlite"
      ? ["--allow-ffi", "--allow-sys", "--allow-env"]
      : ["--allow-env"];
    await writeAtOnce(place, 480, {
      permissions: ["--allow-read", `--allow-write=${files}`, ...permissions],
      notice: /there is no permission to read and write .*a\.db-next/,
    });
    assertEquals((await place.writers()).length, 960);
  });

  test("a turn whose file cannot be opened is none, with one notice", async (place) => {
    await Deno.mkdir(`${place.path}-turn`);
    await writeAtOnce(place, 480, { notice: /Is a directory/ });
    assertEquals((await place.writers()).length, 960);
  });

  testUnless(
    withoutPrivilege === null ? "there is no setpriv for a process without privileges" : null,
    `${scheme}: in a folder without permission to write there is one notice, and all is written`,
    async () => {
      await using place = await placeOf(scheme);
      await Deno.chmod(dirname(place.path), 0o555);
      const startedBy = withoutPrivilege ?? [];
      await writeAtOnce(place, 480, { startedBy, notice: /Permission denied/ });
      await Deno.chmod(dirname(place.path), 0o755);
      assertEquals((await place.writers()).length, 960);
    },
  );

  test("a process takes turns once another one has created the files", async (place) => {
    await place.write();
    for (const end of ends) await assertRejects(() => Deno.stat(place.path + end));
    for (const end of ends) await Deno.writeTextFile(place.path + end, "");
    place.advance(20);
    await place.driver.transaction(async () => assertEquals(await place.isTaken(), true));
  });
}

Deno.test("a turn that is taken again at once comes after the one that was waiting", async () => {
  await using folder = await scratchFolder();
  const path = await emptyFile(folder.path);
  const [first, second] = [turnOf(path), turnOf(path)];
  await first.meetBusy();
  const order: string[] = [];
  const taken = (name: string, take: Promise<void>) => take.then(() => order.push(name));
  const waiting = taken("second", second.meetBusy());
  while (!await isLocked(`${path}-next`)) await sleep(1);
  first.release();
  const again = taken("first", first.take());
  await waiting;
  assertEquals(await isLocked(`${path}-turn`), true);
  assertEquals(order, ["second"]);
  second.release();
  await again;
  assertEquals(order, ["second", "first"]);
  for (const turn of [first, second]) turn.close();
});

Deno.test("a turn is awaited for 100 ms, and given back when it comes later", async () => {
  await using folder = await scratchFolder();
  const path = await emptyFile(folder.path);
  const { clock, advance } = handClock();
  const [first, second] = [turnOf(path), turnOf(path, clock)];
  await first.meetBusy();
  let isOver = false;
  const waiting = second.meetBusy().then(() => isOver = true);
  while (!await isLocked(`${path}-next`)) await sleep(1);
  advance(99);
  assertEquals([await isLocked(`${path}-turn`), isOver], [true, false]);
  advance(1);
  await waiting;
  second.release();
  // Without a turn, as the wait for the first one is not over.
  await second.take();
  second.release();
  first.release();
  while (await isLocked(`${path}-next`)) await sleep(1);
  assertEquals(await isLocked(`${path}-turn`), false);
  await second.take();
  assertEquals(await isLocked(`${path}-turn`), true);
  for (const turn of [first, second]) turn.close();
  assertEquals(await isLocked(`${path}-turn`), false);
});

interface AtOnce extends ChildOptions {
  /** What each process reports, once; nothing unless set. */
  readonly notice?: RegExp;
}

/** Two processes write so many rows each, and begin together. */
async function writeAtOnce(place: Place, rows: number, options: AtOnce = {}): Promise<void> {
  const end = gate();
  const begun = gate();
  const holder = place.driver.transaction(async () => {
    begun.open();
    await end.passed;
  });
  await begun.passed;
  const start = (name: string) =>
    startChild([program, place.url, "write", name, String(rows)], options);
  await using first = start("first");
  await using second = start("second");
  for (const child of [first, second]) {
    await child.printed(options.notice === undefined ? /writing/ : /observed/);
  }
  end.open();
  await holder;
  for (const child of [first, second]) {
    assertEquals(await child.ended(), 0, child.stderr());
    const notices = child.stdout().split("\n").filter((line) => line.startsWith("observed"));
    assertEquals(notices.length, options.notice === undefined ? 0 : 1, child.stdout());
    if (options.notice !== undefined) assertMatch(notices[0] ?? "", options.notice);
  }
}

interface Place extends AsyncDisposable {
  readonly path: string;
  readonly url: string;
  /** Waits for 300 ms until a write is unavailable. */
  readonly driver: Driver;
  /** Starts a process of this file, or with its URL. */
  start(place: string, mode: string, ...args: string[]): Child;
  /** A process that holds a transaction, and the turn. */
  holder(): Promise<Child>;
  write(): Promise<unknown>;
  /** Who wrote the rows, in their order. */
  writers(): Promise<string[]>;
  /** Whether a process has the turn. */
  isTaken(): Promise<boolean>;
  /** Moves the clock by which the driver looks for the files of the turn. */
  advance(ms: number): void;
}

async function placeOf(scheme: string): Promise<Place> {
  // A process with limited permissions opens the file.
  const folder = await scratchFolder({ dir: diskFolder });
  const path = `${await Deno.realPath(folder.path)}/a.db`;
  const url = `${scheme}:${path}`;
  let passedMs = 0;
  const clock = { ...systemClock, elapsedMs: () => systemClock.elapsedMs() + passedMs };
  const { driver } = await openDatabase(url, { clock, waitLimitMs: 300 });
  const query = async (text: string) => await driver.query({ text, values: [] });
  await query("CREATE TABLE things (id INTEGER PRIMARY KEY AUTOINCREMENT, writer TEXT)");
  const start = (...args: string[]) => startChild([program, ...args]);
  return {
    path,
    url,
    driver,
    start,
    async holder() {
      for (const end of ends) await Deno.writeTextFile(path + end, "");
      const child = start(url, "hold", "holder");
      await child.printed(/holding/);
      assertEquals(await isLocked(`${path}-turn`), true);
      return child;
    },
    write: () => query("INSERT INTO things (writer) VALUES ('this')"),
    async writers() {
      return (await query("SELECT writer FROM things ORDER BY id")).rows.map(([name]) =>
        String(name)
      );
    },
    isTaken: () => isLocked(`${path}-turn`),
    advance: (ms) => passedMs += ms,
    async [Symbol.asyncDispose]() {
      await driver.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function emptyFile(folder: string): Promise<string> {
  const path = `${folder}/a.db`;
  await Deno.writeTextFile(path, "");
  return path;
}

function turnOf(path: string, clock: Clock = systemClock): CrossProcessWriteLock {
  return new CrossProcessWriteLock({ path, label: path, clock });
}

/** Looks by a handle of its own. */
async function isLocked(path: string): Promise<boolean> {
  using file = await Deno.open(path);
  return !file.tryLockSync(true);
}
