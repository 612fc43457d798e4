import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openDatabase } from "../../src/engines/open_database.ts";
import { openStoreByUrl } from "../../src/engines/open_driver.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { openKeyValueStore } from "../../src/kv/open_key_value_store.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { set } from "../conformance/key_value.ts";
import { scratchFolder } from "../support/scratch.ts";

function observed(): { runtime: ReturnType<typeof systemRuntime>; seen: Observation[] } {
  const seen: Observation[] = [];
  return { runtime: systemRuntime((observation) => seen.push(observation)), seen };
}

Deno.test("a path is a file that keeps what was stored", async () => {
  await using folder = await scratchFolder();
  const { runtime, seen } = observed();
  for (const expected of [undefined, 1]) {
    const store = await openKeyValueStore(`${folder.path}/a.kv`, runtime, openStoreByUrl);
    const kv = store.need("limits");
    assertStrictEquals(kv, store.configured);
    assertEquals((await kv.get(["a"])).value, expected);
    await set(kv, ["a"], 1);
    await store.close();
  }
  assertEquals(seen, []);
});

Deno.test("a new store can be read only by its user, and an existing file keeps its mode", async () => {
  await using folder = await scratchFolder();
  const { runtime } = observed();
  const existing = `${folder.path}/existing.kv`;
  await Deno.writeTextFile(existing, "");
  await Deno.chmod(existing, 0o640);
  for (const [path, expected] of [[`${folder.path}/new.kv`, 0o600], [existing, 0o640]] as const) {
    const store = await openKeyValueStore(path, runtime, openStoreByUrl);
    await set(store.need("accounts"), ["a"], 1);
    for (const file of ["", "-wal", "-shm"]) {
      assertEquals((await Deno.stat(path + file)).mode! & 0o777, expected, path + file);
    }
    await store.close();
  }
});

Deno.test("a Deno.Kv and an own store are used as they are, and closed", async () => {
  const { runtime, seen } = observed();
  const store = await openKeyValueStore(await Deno.openKv(":memory:"), runtime, openStoreByUrl);
  await set(store.need("limits"), ["a"], 1);
  const own = await openKeyValueStore(store.configured ?? undefined, runtime, openStoreByUrl);
  assertStrictEquals(own.need("limits"), store.configured);
  await own.close();
  await assertRejects(() => store.need("limits").get(["a"]));
  assertEquals(seen, []);
});

Deno.test("without a store nothing is observed until one is needed, and then once", async () => {
  const { runtime, seen } = observed();
  const store = await openKeyValueStore(undefined, runtime, openStoreByUrl);
  assertEquals([store.configured, seen], [null, []]);
  const kv = store.need("limits");
  await set(kv, ["a"], 1);
  assertStrictEquals(store.need("balances"), kv);
  const reason = "no kv is configured";
  assertEquals(seen, [{ kind: "store_in_memory", purpose: "limits", reason }]);
  await store.close();
});

Deno.test("memory that was configured is not observed", async () => {
  const { runtime, seen } = observed();
  const store = await openKeyValueStore(":memory:", runtime, openStoreByUrl);
  await set(store.need("limits"), ["a"], 1);
  assertEquals(seen, []);
  await store.close();
});

Deno.test("a store that cannot be opened ends the start with a message", async () => {
  await using folder = await scratchFolder();
  const { runtime } = observed();
  await Deno.writeTextFile(`${folder.path}/letter.kv`, "Dear reader, ".repeat(300));
  for (const path of [`${folder.path}/absent/a.kv`, `${folder.path}/letter.kv`]) {
    const error = await assertRejects(
      () => openKeyValueStore(path, runtime, openStoreByUrl),
      Error,
    );
    assertEquals(error.constructor, Error);
    assertEquals(error.message.startsWith(`Cannot open the key-value store ${path}: `), true);
  }
});

Deno.test("a file that SQLite keeps beside a database was taken for a store, and deleted with it", async () => {
  await using folder = await scratchFolder();
  const { runtime } = observed();
  for (const end of ["-wal", "-shm", "-journal", "-WAL", "-mj0A1B2C3D4"]) {
    const path = `${folder.path}/shop.db${end}`;
    const error = await assertRejects(
      () => openKeyValueStore(path, runtime, openStoreByUrl),
      Error,
    );
    assertEquals(
      error.message,
      `Cannot open the key-value store: kv must not end with "${end}", as the names of files that ` +
        "SQLite makes for a database do",
    );
    const link = `${folder.path}/link${end}.kv`;
    await Deno.writeFile(path, new Uint8Array());
    await Deno.symlink(path, link);
    await assertRejects(
      () => openKeyValueStore(link, runtime, openStoreByUrl),
      Error,
      `must not end with "${end}"`,
    );
  }
  const store = await openKeyValueStore(`${folder.path}/wal.journal`, runtime, openStoreByUrl);
  await store.close();
});

Deno.test("a store could not be opened while another process created its file", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/a.kv`;
  const { runtime, seen } = observed();
  using creating = new DatabaseSync(path);
  creating.exec("PRAGMA user_version = 1; BEGIN IMMEDIATE");
  const store = await openKeyValueStore(path, {
    ...runtime,
    random: {
      // The wait before the next try is random: the other process is done then.
      bytes(length) {
        if (creating.isTransaction) creating.exec("COMMIT");
        return runtime.random.bytes(length);
      },
    },
  }, openStoreByUrl);
  assertEquals((await store.need("limits").get(["a"])).value, undefined);
  assertEquals(seen, []);
  await store.close();
});

Deno.test("the access token went in clear text to any host of an http:// URL", async () => {
  const { runtime } = observed();
  for (const url of ["http://192.0.2.2:18778", "HTTP://kv.test", "http://127.0.0.1.kv.test/"]) {
    const error = await assertRejects(() => openKeyValueStore(url, runtime, openStoreByUrl), Error);
    assertEquals(
      error.message,
      "Cannot open the key-value store: kv takes http:// on this machine alone: use https://",
    );
  }
});

Deno.test("a database was taken for a store: Deno KV wrote its tables into it", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/shop.db`;
  using database = new DatabaseSync(path);
  for (const mode of ["DELETE", "WAL"]) {
    database.exec(`PRAGMA journal_mode = ${mode}; DROP TABLE IF EXISTS queue`);
    database.exec("CREATE TABLE queue (id INTEGER PRIMARY KEY, name TEXT)");
    const { runtime } = observed();
    const links = [`${folder.path}/soft.db`, `${folder.path}/hard.db`] as const;
    await Deno.symlink(path, links[0]);
    await Deno.link(path, links[1]);
    for (const name of [path, relative(Deno.cwd(), path), ...links]) {
      await assertRejects(() => openKeyValueStore(name, runtime, openStoreByUrl), Error, "own");
    }
    for (
      const name of [
        "file:shop.db",
        "sqlite:shop.db",
        "SQLITE://shop.db",
        `file://${path}`,
        "node-sqlite:shop.db",
        "pglite:shop.db",
        "file:shop.db?mode=rw",
        "https:shop.db",
      ]
    ) {
      await assertRejects(() => openKeyValueStore(name, runtime, openStoreByUrl), Error, "takes");
    }
    for (const link of links) await Deno.remove(link);
    const tables = database.prepare("SELECT name FROM sqlite_schema").all();
    assertEquals(tables.map(({ name }) => name), ["queue"]);
  }
});

Deno.test("a store and a database of one process were one file", async () => {
  await using folder = await scratchFolder();
  const { runtime } = observed();
  const path = `${folder.path}/a.db`;
  for (const scheme of ["sqlite", "node-sqlite"]) {
    const db = await openDatabase(`${scheme}:${path}`);
    await Deno.link(path, `${folder.path}/hard.db`);
    for (const name of [path, `${folder.path}/hard.db`]) {
      await assertRejects(
        () => openKeyValueStore(name, runtime, openStoreByUrl),
        Error,
        "this process has it open",
      );
    }
    await db.close();
    await Deno.remove(`${folder.path}/hard.db`);
  }
  // Empty, and open nowhere: it may become a store. Two of one process share it.
  const stores = [
    await openKeyValueStore(path, runtime, openStoreByUrl),
    await openKeyValueStore(path, runtime, openStoreByUrl),
  ];
  await assertRejects(() => openDatabase(`sqlite:${path}`), Error, "Deno KV");
  for (const store of stores) await store.close();
  await (await openDatabase(`sqlite:${path}`)).close();
});
