import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { sleep } from "../../../src/runtime/runtime.ts";
import { type EventStream, openEventStream } from "../../support/event_stream.ts";
import { scratchFolder } from "../../support/scratch.ts";
import { type LoadResult, startLoad } from "./http_load.ts";
import {
  missingNotes,
  notesConfig,
  type SeveralWorkers,
  startWorkers,
  untilEnded,
} from "./several_workers.ts";

/** Writes a configuration that answers with this version, and returns its path. */
async function writeVersion(folder: string, version: string): Promise<string> {
  const path = `${folder}/service.config.ts`;
  await Deno.writeTextFile(
    path,
    `import { config } from "${notesConfig}";
    const version = async (context, next) => {
      await next();
      context.header("x-version", "${version}");
    };
    export default { ...config, middleware: [version] };`,
  );
  return path;
}

async function versionsOf(url: string): Promise<ReadonlySet<string | null>> {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const versions = new Set<string | null>();
  for (let request = 0; request < 10; request++) {
    const response = await fetch(`${url}/api/notes/count`, { client });
    await response.body?.cancel();
    versions.add(response.headers.get("x-version"));
  }
  client.close();
  return versions;
}

async function createNote(url: string, user: string, title: string): Promise<number> {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const response = await fetch(`${url}/api/notes`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-user": user },
    body: JSON.stringify({ title }),
    client,
  });
  const { id } = await response.json();
  client.close();
  return id;
}

interface Follower {
  /** Resolves once it sees what is added from now on. */
  readonly synced: Promise<void>;
  /** The ids of all notes that were added since, up to the one with the title "last". */
  readonly ids: Promise<readonly number[]>;
}

/** Follows the notes that are added, over one stream after the other, as an EventSource does. */
function followNotes(url: string): Follower {
  const synced = Promise.withResolvers<void>();
  const ids: number[] = [];
  let position = "";
  let isLast = false;

  async function follow(): Promise<readonly number[]> {
    // It takes a connection again that has been left open.
    const client = Deno.createHttpClient({ poolMaxIdlePerHost: 1 });
    while (!isLast) {
      const headers = { "x-user": "reader", "last-event-id": position };
      const stream = await openEventStream(
        (signal) => fetch(`${url}/api/notes/subscribe`, { headers, signal, client }),
        () => {},
      );
      await followOne(stream);
      position = stream.lastEventId;
      await stream.close();
    }
    client.close();
    return ids;
  }

  async function followOne(stream: EventStream): Promise<void> {
    if (position === "") {
      await stream.untilSynced();
      await stream.untilToken();
    }
    synced.resolve();
    for (let event = await stream.next(); event !== null; event = await stream.next()) {
      assertEquals(event.type, "added");
      ids.push(event.data.item.id);
      isLast = event.data.item.title === "last";
      if (isLast) return;
    }
  }

  const following = follow();
  // Awaited at the end of the test.
  following.catch(() => null);
  return { synced: synced.promise, ids: following };
}

/** Creates notes, one after the other, until `work` is done; returns their ids. */
async function writeWhile(url: string, work: Promise<void>): Promise<readonly number[]> {
  const ids: number[] = [];
  let isDone = false;
  work.then(() => isDone = true);
  while (!isDone) {
    ids.push(await createNote(url, `writer ${ids.length}`, "written"));
    await sleep(20);
  }
  return ids;
}

Deno.test("workers of one port are killed, replaced and stopped", async () => {
  // At the same time: most of it is waiting.
  await Promise.all([requireLife("SIGKILL"), requireLife("SIGTERM")]);
});

/** From the start of two workers to the signal that ends the first process. */
async function requireLife(end: "SIGKILL" | "SIGTERM"): Promise<void> {
  await using folder = await scratchFolder();
  const config = await writeVersion(folder.path, "first");
  const env = { NOTES_DB: `sqlite:${folder.path}/notes.db`, NOTES_KV: `${folder.path}/notes.kv` };
  await using service = await startWorkers(config, env);
  await requireOthersAfterKill(service);
  await writeVersion(folder.path, "second");
  await requireRollingRestart(service);
  assertEquals(await versionsOf(service.url), new Set(["second"]));
  await Deno.writeTextFile(config, "export default {");
  await requireOldAfterMistake(service, config);
  assertEquals(await versionsOf(service.url), new Set(["second"]));
  await requireAddresses(service);
  await requireEnd(service, end);
}

/** One that is killed takes its connections along, and is replaced. */
async function requireOthersAfterKill(service: SeveralWorkers): Promise<void> {
  const { child, port, running } = service;
  for (let sent = 0; sent < 20; sent++) await missNote(service);
  assertEquals(await missingIn(service), 20);
  const load = startLoad(port, 4, "kept");
  await load.answers(50);
  Deno.kill(running()[0] ?? 0, "SIGKILL");
  await child.logged(/"worker_ended".*"reason":"SIGKILL"/);
  await load.answers(50);
  await child.logged(/"worker_started"/, 3);
  const { failures } = await load.stop();
  // A client that connects again while the kernel ends the process may reach its socket once more.
  assert(failures.length <= 8, `at most two for each connection: ${failures}`);
  assertEquals(running().length, 2);
  assertEquals(await missingIn(service), 20, "what the killed worker had counted");
}

async function missNote({ url }: SeveralWorkers): Promise<void> {
  await (await fetch(`${url}/api/notes/404040`)).body?.cancel();
}

async function missingIn({ url }: SeveralWorkers): Promise<number> {
  return missingNotes(await (await fetch(`${url}/__service/metrics`)).text());
}

/** A SIGHUP replaces all, no request fails, `/readyz` is never 503, and no event is lost. */
async function requireRollingRestart(service: SeveralWorkers): Promise<void> {
  const { child, url, port, running } = service;
  for (let sent = 0; sent < 10; sent++) await missNote(service);
  const before = running();
  const loads = [startLoad(port, 4, "new"), startLoad(port, 4, "kept")];
  const follower = followNotes(url);
  await follower.synced;
  child.signal("SIGHUP");
  const written = await writeWhile(url, untilEnded(before));
  for (const load of loads) await load.answers(50);
  assertEquals((await Promise.all(loads.map((load) => load.stop()))).flatMap(failuresOf), []);
  assertEquals(await missingIn(service), 30, "what the replaced workers had counted");
  const last = await createNote(url, "last", "last");
  assertEquals(await follower.ids, [...written, last]);
}

/** Where the new one does not start, the old ones stay. */
async function requireOldAfterMistake(
  { child, running }: SeveralWorkers,
  config: string,
): Promise<void> {
  const before = running();
  child.signal("SIGHUP");
  await child.logged(/"worker_kept","worker":1,"reason":"exit code 2"/);
  assertStringIncludes(child.stderr(), `Cannot load ${config}`);
  assertEquals(running(), before);
}

/** A limit counts the addresses of clients, in all workers together. */
async function requireAddresses({ url }: SeveralWorkers): Promise<void> {
  const statusFrom = async (address: string) => {
    const args = ["-so", "/dev/null", "-w", "%{http_code}", "--interface", address];
    const curl = new Deno.Command("curl", { args: [...args, `${url}/api/limited`] });
    return new TextDecoder().decode((await curl.output()).stdout);
  };
  const statuses: string[] = [];
  for (const last of [2, 2, 2, 3]) statuses.push(await statusFrom(`127.0.0.${last}`));
  assertEquals(statuses, ["200", "200", "429", "200"]);
}

/** The signal of the first process ends all. */
async function requireEnd(
  { child, port, running }: SeveralWorkers,
  signal: "SIGKILL" | "SIGTERM",
): Promise<void> {
  const before = running();
  child.signal(signal);
  assertEquals(await child.ended(), signal === "SIGTERM" ? 0 : 137);
  await untilEnded(before);
  await assertRejects(() => Deno.connect({ hostname: "127.0.0.1", port }));
}

function failuresOf({ answered, failures }: LoadResult): readonly string[] {
  assert(answered > 0);
  return failures;
}
