import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createApp } from "../../src/app/app.ts";
import { all } from "../../src/filter/builders.ts";
import { DatabaseError } from "../../src/db/database_error.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { openEventStream } from "../support/event_stream.ts";
import { run, scratchFolder } from "../support/scratch.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

/** How the path gets another file, or none, under a running service: arguments of a program. */
const replacements: Readonly<Record<string, (path: string, copy: string) => readonly string[]>> = {
  "moved over": (path, copy) => ["mv", copy, path],
  "copied to a file of its own": (path, copy) => ["cp", "--remove-destination", copy, path],
  "moved away": (path) => ["mv", path, `${path}.old`],
  "deleted": (path) => ["rm", path],
  "reached by a link that leads elsewhere": (path, copy) => ["ln", "-sfn", copy, path],
};

for (const scheme of ["sqlite", "node-sqlite"]) {
  for (const [name, command] of Object.entries(replacements)) {
    Deno.test(`a file that is ${name} while it is open is not written any more (${scheme})`, async () => {
      await using folder = await scratchFolder();
      const path = `${folder.path}/notes.db`;
      const copy = `${folder.path}/copy.db`;
      if (name.includes("link")) {
        await Deno.writeFile(`${folder.path}/first.db`, new Uint8Array());
        await Deno.symlink(`${folder.path}/first.db`, path);
      }
      await using service = await serve(`${scheme}:${path}`);
      assertEquals(await service.create(1), 201);
      await service.sql(`VACUUM INTO '${copy}'`);
      const stream = await service.subscribe();
      await stream.untilSynced();
      assertEquals([await service.status("/readyz"), await service.create(2)], [200, 201]);
      assertEquals((await stream.take(1)).map(({ type }) => type), ["added"]);

      await execute(command(path, copy));
      const last = await stream.untilEnd();
      assertEquals(last.map(({ data }) => data), [
        { type: "invalidate", reason: "database_replaced" },
      ]);
      assertEquals(await service.create(3), 503);
      for (const url of ["/api/notes", "/api/notes/1", "/readyz", "/api/notes/subscribe"]) {
        assertEquals(await service.status(url), 503, url);
      }
      const seen = service.observed.flatMap((one) =>
        one.kind === "database_replaced" ? [String(one.error)] : []
      );
      assertEquals(seen.length, 1);
      assertStringIncludes(seen[0] ?? "", path);
      assertStringIncludes(seen[0] ?? "", "start it again");
      // What reaches the driver without HTTP is refused as well.
      for (const text of ["SELECT 1", "DELETE FROM notes", "VACUUM"]) {
        assertEquals(await refusal(service.sql(text)), "replaced", text);
      }
      assertEquals(await refusal(service.transaction()), "replaced");
    });
  }

  Deno.test(`a file that is moved away and comes back is used again (${scheme})`, async () => {
    await using folder = await scratchFolder();
    const path = `${folder.path}/notes.db`;
    await using service = await serve(`${scheme}:${path}`);
    assertEquals(await service.create(1), 201);
    await execute(["mv", path, `${path}.old`]);
    await until(async () => await service.status("/readyz") === 503);
    assertEquals(await service.create(2), 503);
    await execute(["mv", `${path}.old`, path]);
    await until(async () => await service.create(3) === 201);
    assertEquals((await service.sql("SELECT id FROM notes")).rows.map(([id]) => Number(id)), [
      1,
      3,
    ]);
    assertEquals(await service.status("/readyz"), 200);
  });
}

for (const scheme of ["sqlite", "node-sqlite"]) {
  for (const [name, bytes] of [["overwritten", 4096 * 5], ["emptied", 0]] as const) {
    Deno.test(`a file that is ${name} in place is not used any more (${scheme})`, async () => {
      await using folder = await scratchFolder();
      const path = `${folder.path}/notes.db`;
      await using service = await serve(`${scheme}:${path}`);
      await service.create(1);
      await service.sql("PRAGMA wal_checkpoint(TRUNCATE)");
      // The pages of another file, as after `cp other.db notes.db`.
      await Deno.writeFile(path, new Uint8Array(bytes).fill(7, 100));
      const noticed = async () => await service.status("/readyz") === 503;
      if (bytes === 0) await until(noticed);
      else assertEquals(await service.status("/api/notes?filter=title==b"), 503);
      assertEquals(await service.create(2), 503);
      for (const url of ["/api/notes", "/readyz"]) {
        assertEquals(await service.status(url), 503, url);
      }
      const seen = service.observed.flatMap((one) =>
        one.kind === "database_replaced" ? [String(one.error)] : []
      );
      assertEquals(seen.length, 1);
      assertMatch(seen[0] ?? "", bytes > 0 ? /is damaged/ : /is damaged|changed or replaced/);
    });
  }
}

async function serve(url: string) {
  const db = await openDatabase(url);
  await db.createTables([notes]);
  const observed: Observation[] = [];
  const identify = () => ({ user: { id: "ann" } });
  const auth = { read: all, create: all, subscribe: all };
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    auth: { use: [{ name: "ann", identify }] },
    runtime: systemRuntime((one) => observed.push(one)),
    resources: [resource(notes, { id: notes.id, auth })],
  });
  // Timers that poll for changes keep no process alive, and the test waits for nothing else.
  const alive = setInterval(() => {}, 60_000);
  const fetched = async (path: string, init: RequestInit = {}) => {
    const response = await app.fetch(new Request(`http://test${path}`, init));
    await response.body?.cancel();
    return response.status;
  };
  return {
    observed,
    sql: (text: string) => run(db, text),
    transaction: () => db.driver.transaction(() => Promise.resolve()),
    status: (path: string) => fetched(path),
    create: (id: number) =>
      fetched("/api/notes", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ id, title: "a" }),
      }),
    subscribe: () =>
      openEventStream(
        (signal) => app.fetch(new Request("http://test/api/notes/subscribe", { signal })),
        () => {},
      ),
    async [Symbol.asyncDispose]() {
      clearInterval(alive);
      await app.close();
      await db.close();
    },
  };
}

async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof DatabaseError) return error.kind;
    throw error;
  }
  return "none";
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!await isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function execute([command = "", ...args]: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args: [...args] }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}
