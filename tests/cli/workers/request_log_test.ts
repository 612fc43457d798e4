import { assertEquals } from "@std/assert";
import { openDatabase } from "../../../mod.ts";
import { sleep } from "../../../src/runtime/runtime.ts";
import { startChild } from "../../serve/child_process.ts";
import { freshClient, program } from "./several_workers.ts";

interface Log {
  readonly requests: readonly { readonly path: string }[];
}

interface Load {
  readonly points: readonly { readonly requests: number }[];
}

Deno.test("the log of requests adds all workers, and remains after a restart", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/notes.db`;
    const db = await openDatabase(`sqlite:${path}`);
    await db.sql`CREATE TABLE notes (id INTEGER PRIMARY KEY)`;
    await db.close();
    const sent = Array.from({ length: 40 }, (_one, id) => `/api/notes/${id}`);
    await serving(path, "2", async (url) => {
      using client = freshClient(url);
      for (const path of sent) await (await client.fetch(path)).body?.cancel();
      assertEquals((await readAll(client.fetch)).toSorted(), sent.toSorted());
      const load = await client.fetch("/__service/ui/report/load?span=day");
      const { points }: Load = await load.json();
      assertEquals(points.reduce((sum, { requests }) => sum + requests, 0), 40);
    });
    await serving(path, "1", async (url) => {
      using client = freshClient(url);
      const kept = (await readAll(client.fetch)).toSorted();
      assertEquals(kept, sent.toSorted());
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Runs `work` while the command line serves a database with its dashboard. */
async function serving(
  path: string,
  workers: string,
  work: (url: string) => Promise<void>,
): Promise<void> {
  await using child = startChild(
    [program, path, "--ui", "--port", "0", "--workers", workers],
    { maxLifeMs: 60_000 },
  );
  const [, url = ""] = await child.printed(/(http:\/\/[^/]+)\/healthz/);
  await work(url);
}

/** Reads the paths of all requests for rows. Each worker writes its requests twice a second. */
async function readAll(fetch: (path: string) => Promise<Response>): Promise<readonly string[]> {
  while (true) {
    const response = await fetch("/__service/ui/report/requests?path=/api/notes/");
    const { requests }: Log = await response.json();
    if (requests.length >= 40) return requests.map(({ path }) => path);
    await sleep(50);
  }
}
