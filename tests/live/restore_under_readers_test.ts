import { assertEquals } from "@std/assert";
import Sqlite from "better-sqlite3";
import type { ChangeLog } from "../../src/db/changes/change_log.ts";
import { everyEngine } from "../support/engines.ts";
import { scratchFolder } from "../support/scratch.ts";
import { Client, close, readAll, spied, type TestHub, untilIdle, withHub } from "./hub_support.ts";
import { notes } from "./notes.ts";
import type { Database } from "../../src/db/database.ts";

const engine = everyEngine.find(({ name }) => name === "better-sqlite3")!;

/** What memory has of the changes when a backup is restored, and how a stream begins. */
const cases = [
  { memory: "nothing", changes: 1, resumeFrom: null },
  { memory: "nothing", changes: 1, resumeFrom: "unknown" },
  { memory: "all of it", changes: 1_000, resumeFrom: "unknown" },
];

for (const { memory, changes, resumeFrom } of cases) {
  Deno.test(`a stream that begins before a restore is noticed shows what was restored, where memory has ${memory} of the lost history and the position is ${resumeFrom}`, async () => {
    await using folder = await scratchFolder();
    const copy = `${folder.path}/copy.db`;
    const limits = { ringBuffer: { changes, bytes: 1_000_000 } };
    await withHub(engine, notes, { limits, wrap: limited }, async (test) => {
      const insert = (id: number) => test.sql(`INSERT INTO notes (id, title) VALUES (${id}, 'a')`);
      for (const id of [1, 2, 3]) await insert(id);
      await test.sql(`VACUUM INTO '${copy}'`);
      for (const id of [4, 5, 6, 7, 8]) await insert(id);
      // It makes the feed read.
      const follower = await test.subscribe();
      await follower.untilSynced();
      await untilIdle();
      await test.advance(3_000);
      await restore(test.db, copy);
      const client = new Client();
      const reading = readAll(
        await test.subscribe({ resumeFrom }),
        (event) => client.take(event),
      );
      await untilIdle();
      await requireRestored(test, client);
      await close(reading);
      await follower.close();
    });
  });
}

async function requireRestored(test: TestHub, client: Client): Promise<void> {
  const { rows } = await test.db.driver.query({ text: "SELECT id FROM notes", values: [] });
  assertEquals(rows.map(([id]) => Number(id)), [1, 2, 3]);
  assertEquals([...client.rows.keys()], [1, 2, 3]);
  assertEquals(client.faults, []);
  assertEquals(test.observations, []);
}

/** As another program does, of which the feed learns when it looks the next time. */
async function restore(db: Database, copy: string): Promise<void> {
  const text = "PRAGMA database_list";
  const { rows: [[, , path] = []] } = await db.driver.query({ text, values: [] });
  const source = new Sqlite(copy);
  await source.backup(String(path));
  source.close();
}

/** A reader that repeats the same read for ever lets nothing else run: it is to fail instead. */
function limited(log: ChangeLog): ChangeLog {
  let looks = 0;
  return spied(log, () => {
    if (++looks > 500) throw new Error("the log is read again and again");
    return Promise.resolve();
  });
}
