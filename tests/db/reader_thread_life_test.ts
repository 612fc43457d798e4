import { assertEquals, assertStringIncludes } from "@std/assert";
import { basename, dirname } from "node:path";
import { createApp, openDatabase, serve } from "../../mod.ts";
import { sqliteDriver } from "../../src/engines/sqlite/driver/open_sqlite_file.ts";
import type { SqliteLibrary } from "../../src/engines/sqlite/driver/sqlite_library.ts";
import type { Driver } from "../../src/db/driver.ts";
import { type Observation, sleep } from "../../src/runtime/runtime.ts";
import { fails } from "../conformance/driver.ts";
import { runChild } from "../serve/child_process.ts";
import { publishedSources } from "../support/published_sources.ts";
import { scratchFolder } from "../support/scratch.ts";
import { mortal } from "./mortal_library.ts";
import { endless, readLimits } from "./sqlite_reads_support.ts";

const secret = "a secret for the tests only";

Deno.test("a service that listens keeps no request waiting for the start of a thread", async () => {
  await using test = await withMortal();
  const db = await openDatabase(test.driver);
  const server = await serve({ db, secret, resources: [], port: 0, onListen: () => {} });
  await test.untilThreads(2);
  // Both are there, and no third one comes.
  assertEquals((await test.read("SELECT 1")).rows, [[1]]);
  assertEquals(await test.threads(), 2);
  await server.stop();
});

Deno.test("an app without a listener starts no thread before a read or its program asks for one", async () => {
  await using test = await withMortal();
  const app = await createApp({ db: await openDatabase(test.driver), secret, resources: [] });
  await sleep(100);
  assertEquals(await test.threads(), 0);
  app.warmUp();
  await test.untilThreads(2);
  await app.close();
});

Deno.test("a database in memory starts no thread before a read needs one", async () => {
  const driver = await sqliteDriver(mortal, ":memory:");
  const { rows: [[path = ""] = []] } = await driver.query({
    text: "SELECT file FROM pragma_database_list",
    values: [],
  });
  await driver.threads?.start();
  assertEquals(await threadsOf(String(path)), 0);
  await driver.reads(readLimits({ isLong: true })).query({ text: "SELECT 1", values: [] });
  assertEquals(await threadsOf(String(path)), 1);
  await driver.close();
});

for (const end of ["exit", "throw"]) {
  Deno.test(`a read whose thread ended by ${end} had no answer until its time was over`, async () => {
    await using test = await withMortal();
    const read = test.read(`SELECT '${end}'`);
    // Neither in the queue nor in the other thread is anything lost by that.
    const other = test.read("SELECT 1");
    await fails(read, "unavailable");
    assertEquals((await other).rows, [[1]]);
    assertEquals((await test.read("SELECT 2")).rows, [[2]]);
    assertEquals(test.observed(), ["reader_thread_failed"]);
  });
}

Deno.test("reads wait for a thread that can be started, and are refused where none can for now", async () => {
  await using test = await withMortal();
  assertEquals((await test.read("SELECT 1")).rows, [[1]]);
  await Deno.writeTextFile(`${test.path}.refused`, "");
  // A second thread cannot be started: the first one serves both.
  const both = [test.read("SELECT 2"), test.read("SELECT 3")];
  assertEquals((await Promise.all(both)).map(({ rows }) => rows), [[[2]], [[3]]]);
  await fails(test.read("SELECT 'exit'"), "unavailable");
  await fails(test.read("SELECT 4"), "overloaded");
  await fails(test.read("SELECT 5"), "overloaded");
  await Deno.remove(`${test.path}.refused`);
  assertEquals((await test.read("SELECT 6")).rows, [[6]]);
  // Of starts that fail one after the other the first one is reported.
  assertEquals(test.observed(), ["reader_thread_failed", "reader_thread_failed"]);
});

Deno.test("threads that cannot be started on this host were not reported", async () => {
  const module = "data:text/javascript,throw new Error('There are no such threads')";
  await using test = await withMortal({ ...mortal, source: { module, name: "mortal" } });
  assertEquals((await test.read("SELECT 1")).rows, [[1]]);
  assertEquals((await test.read("SELECT 2")).rows, [[2]]);
  assertEquals(test.observed(), ["reader_thread_failed"]);
  assertStringIncludes(Deno.inspect(test.observations), "There are no such threads");
});

Deno.test("a database that is closed while a thread starts does not wait for the thread", async () => {
  const module = "data:text/javascript,await new Promise((resolve) => setTimeout(resolve, 60000))";
  await using test = await withMortal({ ...mortal, source: { module, name: "mortal" } });
  const read = fails(test.read("SELECT 1"), "unavailable");
  await sleep(100);
  await test.driver.close();
  await read;
  assertEquals(test.observed(), []);
});

Deno.test("loaded from a URL the package starts its threads from there", async () => {
  await using folder = await scratchFolder();
  await using sources = await publishedSources(folder.path);
  const program = `
    import { openDatabase } from "${sources.place}mod.ts";
    const { driver } = await openDatabase("node-sqlite:notes.db");
    driver.observeBy(({ kind, error }) => console.log(kind, error));
    const limits = { identity: "a", signal: new AbortController().signal, maxBytes: 1e6 };
    const text = ${JSON.stringify(endless.text)};
    await driver.threads.start();
    setTimeout(() => console.log("another request"), 100);
    await driver.reads({ ...limits, timeoutMs: 400 }).query({ text, values: [] })
      .catch(({ kind }) => console.log(kind));
    await driver.close();
  `;
  await Deno.writeTextFile(`${folder.path}/main.js`, program);
  const { env } = sources;
  const { stdout, stderr } = await runChild(["main.js"], { cwd: folder.path, env });
  assertEquals(stdout, "another request\ntoo-slow\n", stderr);
});

interface Mortal extends AsyncDisposable {
  readonly driver: Driver;
  readonly path: string;
  readonly observations: readonly Observation[];
  /** The kinds of the observations. */
  observed(): readonly string[];
  /** A read that begins in a thread. */
  read(text: string): ReturnType<Driver["query"]>;
  /** How many threads have opened the file. */
  threads(): Promise<number>;
  untilThreads(count: number): Promise<void>;
}

async function withMortal(library: SqliteLibrary = mortal): Promise<Mortal> {
  const folder = await scratchFolder();
  const path = `${await Deno.realPath(folder.path)}/notes.db`;
  const driver = await sqliteDriver(library, path);
  const observations: Observation[] = [];
  driver.observeBy?.((observation) => observations.push(observation));
  const threads = () => threadsOf(path);
  return {
    driver,
    path,
    observations,
    observed: () => observations.map(({ kind }) => kind),
    read: (text) => driver.reads(readLimits({ isLong: true })).query({ text, values: [] }),
    threads,
    async untilThreads(count) {
      for (let turn = 0; turn < 200 && await threads() < count; turn++) await sleep(20);
      assertEquals(await threads(), count);
    },
    async [Symbol.asyncDispose]() {
      await driver.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function threadsOf(path: string): Promise<number> {
  const names = await Array.fromAsync(Deno.readDir(dirname(path)), ({ name }) => name);
  return names.filter((name) => name.startsWith(`${basename(path)}.thread`)).length;
}
