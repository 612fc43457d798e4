import { assertEquals, assertRejects } from "@std/assert";
import { openDatabase } from "../../src/engines/open_database.ts";
import { startChild } from "../serve/child_process.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { run, scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const script = new URL("idempotency_process.ts", import.meta.url).pathname;

/** Moments of one request: after a statement of its transaction, and after the commit. */
const moments = ["INSERT", "UPDATE", "commit"] as const;

for (const scheme of ["sqlite", "node-sqlite"]) {
  Deno.test(`${scheme}: kill -9 around the commit executes a keyed request once`, async () => {
    for (const moment of moments) {
      await using folder = await scratchFolder();
      await killAndRepeat(`${scheme}:${folder.path}/a.db`, moment);
    }
  });
}

const server = testPostgres();
testUnless(
  "missing" in server ? server.missing : null,
  "postgres: kill -9 around the commit executes a keyed request once",
  async () => {
    if ("missing" in server) return;
    for (const moment of moments) {
      const scratch = await createScratchDatabase(server.url);
      try {
        await killAndRepeat(scratch.url, moment);
      } finally {
        await scratch.drop();
      }
    }
  },
);

async function killAndRepeat(url: string, moment: typeof moments[number]): Promise<void> {
  {
    await using doomed = await startService([url, moment]);
    await assertRejects(() => doomed.create("a"), TypeError);
  }
  const isCommitted = moment === "commit";
  assertEquals(await titles(url), isCommitted ? ["a"] : [], `after ${moment}`);
  {
    await using next = await startService([url, "never"]);
    // What was committed is answered at once; what was not is the dead one's for a while.
    assertEquals(await next.create("a"), isCommitted ? [201, "true"] : [409, null]);
    assertEquals(await next.create("b"), [422, null]);
  }
  await using later = await startService([url, "never", "30000"]);
  assertEquals(await later.create("a"), [201, isCommitted ? "true" : null]);
  assertEquals(await later.create("a"), [201, "true"]);
  assertEquals(await titles(url), ["a"]);
}

interface TestService extends AsyncDisposable {
  /** Status, and whether it was said before. */
  create(title: string): Promise<readonly [status: number, replayed: string | null]>;
}

async function startService(args: readonly string[]): Promise<TestService> {
  const child = startChild([script, ...args]);
  const port = (await child.printed(/port (\d+)/))[1];
  return {
    async create(title) {
      const answer = await fetch(`http://127.0.0.1:${port}/api/notes`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": "k" },
        body: JSON.stringify({ title }),
      });
      await answer.body?.cancel();
      return [answer.status, answer.headers.get("idempotency-replayed")];
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

async function titles(url: string): Promise<unknown[]> {
  const db = await openDatabase(url);
  try {
    return (await run(db, "SELECT title FROM notes")).rows.flat();
  } finally {
    await db.close();
  }
}
