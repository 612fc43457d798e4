import { assert, assertEquals } from "@std/assert";
import type { Change, ChangeLog } from "../../src/db/changes/change_log.ts";
import type { Position } from "../../src/db/changes/log_position.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { openLog, readOn } from "../conformance/change_log_support.ts";
import { startChild } from "../serve/child_process.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const script = new URL("change_process.ts", import.meta.url).pathname;
const things = table("things", { id: integer().primaryKey(), half: integer() });
const server = testPostgres();

/** A database that processes share, by its URL; it is removed at the end. */
interface Place {
  readonly name: string;
  readonly missing: string | null;
  readonly make: () => Promise<{ readonly url: string; readonly remove: () => Promise<void> }>;
}

const places: readonly Place[] = [
  { name: "better-sqlite3", missing: null, make: () => file("sqlite") },
  { name: "node:sqlite", missing: null, make: () => file("node-sqlite") },
  {
    name: "postgres",
    missing: "missing" in server ? server.missing : null,
    make: () => cluster(""),
  },
  {
    name: "postgres through a pooler",
    missing: "missing" in server ? server.missing : null,
    make: () => cluster("?prepare=false"),
  },
];

for (const { name, missing, make } of places) {
  testUnless(missing, `${name}: two processes see each other's changes, in order`, async () => {
    const place = await make();
    const db = await openDatabase(place.url);
    await db.createTables([things]);
    const log = await openLog(db, [things]);
    const from = await log.end();
    await using child = startChild([script, place.url, "1", "60"]);
    const heard = followUntil(log, from, ({ after }) => after?.id === 59 && after?.half === 2);
    await child.printed(/done/);
    const changes = await heard;
    assertEquals(
      changes.map(({ kind, after }) => `${kind} ${after?.id} ${after?.half}`),
      Array.from({ length: 60 }, (_, index) => index + 1).filter((id) => id % 3 !== 0)
        .flatMap((id) => [`insert ${id} 1`, `update ${id} 2`]),
    );
    await log.close();
    await db.close();
    await place.remove();
  });

  testUnless(
    missing,
    `${name}: kill -9 leaves every acknowledged change and no halves`,
    async () => {
      const place = await make();
      const db = await openDatabase(place.url);
      await db.createTables([things]);
      const log = await openLog(db, [things]);
      let from = await log.end();
      for (let round = 0; round < 5; round++) {
        const first = 1 + round * 100_000;
        const child = startChild([script, place.url, String(first), "99999"]);
        await child.printed(/stored \d+/);
        await new Promise((resolve) => setTimeout(resolve, 20 + round * 37 % 100));
        child.signal("SIGKILL");
        await child.ended();
        const acknowledged = [...child.stdout().matchAll(/^stored (\d+)$/gm)].map(([, id]) =>
          Number(id)
        );
        assert(acknowledged.length > 0);
        const { changes, to } = await readToEnd(log, from);
        const seen = new Map<number, string>();
        for (const { kind, after } of changes) {
          const id = Number(after?.id);
          seen.set(id, `${seen.get(id) ?? ""}${kind} ${after?.half};`);
        }
        assertEquals(acknowledged.filter((id) => !seen.has(id)), [], "acknowledged and missing");
        assertEquals(
          [...seen.values()].filter((seen) => seen !== "insert 1;update 2;"),
          [],
          "halves",
        );
        assertEquals([...seen.keys()].filter((id) => id % 3 === 0), [], "rolled back");
        from = to;
      }
      await log.close();
      await db.close();
      await place.remove();
    },
  );
}

/** Reads on at every hint; without hints this would wait for ever. */
async function followUntil(
  log: ChangeLog,
  from: Position,
  isLast: (change: Change) => boolean,
): Promise<readonly Change[]> {
  const changes: Change[] = [];
  for (let position = from;;) {
    const hint = Promise.withResolvers<void>();
    const stop = log.onHint(hint.resolve);
    const read = await readOn(log, position);
    changes.push(...read.changes);
    position = read.to;
    if (!changes.some(isLast)) await hint.promise;
    stop();
    if (changes.some(isLast)) return changes;
  }
}

/** A server takes a moment to end what its client has left. */
async function readToEnd(log: ChangeLog, from: Position) {
  let read = await readOn(log, from);
  for (let quiet = 0; quiet < 3; quiet++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const more = await readOn(log, read.to);
    if (more.changes.length > 0) quiet = 0;
    read = { changes: [...read.changes, ...more.changes], to: more.to };
  }
  return read;
}

async function file(scheme: string) {
  const folder = await scratchFolder();
  return {
    url: `${scheme}:${folder.path}/a.db`,
    remove: async () => await folder[Symbol.asyncDispose](),
  };
}

async function cluster(query: string) {
  if ("missing" in server) throw new Error(server.missing);
  const scratch = await createScratchDatabase(server.url);
  return { url: scratch.url + query, remove: scratch.drop };
}
