import { assert, assertEquals } from "@std/assert";
import { openDatabase } from "../../src/engines/open_database.ts";
import { startChild } from "../serve/child_process.ts";
import { run, scratchFolder } from "../support/scratch.ts";
import { repeats } from "../support/repeats.ts";

const script = new URL("kill_process.ts", import.meta.url).pathname;
const writers = 16;

const kills: readonly (readonly [scheme: string, rounds: number])[] = [
  ["sqlite", repeats(20)],
  ["node-sqlite", repeats(10)],
];

for (const [scheme, rounds] of kills) {
  Deno.test(`${scheme}: no acknowledged write is lost and none is halved by kill -9, ${rounds} times`, async () => {
    await using folder = await scratchFolder();
    const url = `${scheme}:${folder.path}/a.db`;
    const db = await openDatabase(url);
    await run(db, "CREATE TABLE things (id TEXT, half INTEGER, PRIMARY KEY (id, half))");
    await db.close();
    const acknowledged = new Set<string>();
    for (let round = 0; round < rounds; round++) {
      const before = acknowledged.size;
      await writeUntilKilled(url, round, acknowledged);
      assert(acknowledged.size > before, "nothing was acknowledged before the kill");
      await check(url, acknowledged);
    }
  });
}

/** Every writer writes until the server is killed. */
async function writeUntilKilled(
  url: string,
  round: number,
  acknowledged: Set<string>,
): Promise<void> {
  await using child = startChild([script, url]);
  const port = (await child.printed(/port (\d+)/))[1];
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: writers });
  let isDoomed = false;
  const firstAnswer = Promise.withResolvers<void>();
  const writing = Array.from({ length: writers }, async (_, writer) => {
    const kind = ["one", "pair", "one", "pair", "wait"][(writer + round) % 5] ?? "one";
    for (let n = 0;; n++) {
      const id = `${kind}-${round}-${writer}-${n}`;
      try {
        const answer = await fetch(`http://127.0.0.1:${port}/${kind}/${id}`, { client });
        assertEquals([answer.status, await answer.text()], [201, "stored"]);
      } catch (error) {
        // The kill: whether this write was stored is unknown.
        if (error instanceof TypeError) return;
        throw error;
      }
      acknowledged.add(id);
      firstAnswer.resolve();
      // The moment right after an answer is when an answer given too early would show.
      if (!isDoomed) continue;
      isDoomed = false;
      child.signal("SIGKILL");
    }
  });
  await Promise.race([firstAnswer.promise, Promise.all(writing)]);
  // A different moment each time, and no rounder than that.
  await new Promise((resolve) => setTimeout(resolve, 50 + round * 37 % 200));
  isDoomed = true;
  await Promise.all(writing);
}

async function check(url: string, acknowledged: ReadonlySet<string>): Promise<void> {
  const db = await openDatabase(url);
  const { rows } = await run(db, "SELECT id, group_concat(half) FROM things GROUP BY id");
  const stored = new Map(rows.map(([id, halves]) => [String(id), String(halves)]));
  assertEquals([...acknowledged].filter((id) => !stored.has(id)), [], "acknowledged and missing");
  const halved = [...stored].filter(([id, halves]) =>
    halves !== (id.startsWith("one") ? "0" : "1,2")
  );
  assertEquals(halved, [], "stored by half");
  assertEquals((await run(db, "PRAGMA integrity_check")).rows, [["ok"]]);
  await db.close();
}
