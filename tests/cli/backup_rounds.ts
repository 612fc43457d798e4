import { assert, assertEquals, assertRejects } from "@std/assert";
import type { App } from "../../mod.ts";
import { runBackupCommand } from "../../src/cli/backup/run_backup_command.ts";
import { runRestoreCommand } from "../../src/cli/backup/run_restore_command.ts";
import { startChild } from "../serve/child_process.ts";
import { diskFolder } from "../support/disk.ts";
import { openEventStream } from "../support/event_stream.ts";
import { scratchFolder } from "../support/scratch.ts";
import { granted, openShop } from "./backup_service.ts";

/** The sums over all rounds. */
export interface BackupRounds {
  readonly writes: number;
  /** The streams of before that began again. */
  readonly streams: number;
  readonly refused: number;
}

const account = { email: "ada@example.com", password: "a password of many words" };
const version = "0.1.0";

/**
 * Backs up a service that writes all the time, so many times, and restores each backup in another
 * folder. Counts rows, credits and sessions there, resumes streams, and restores damaged copies.
 */
export async function checkBackups(rounds: number): Promise<BackupRounds> {
  await using folder = await scratchFolder({ dir: diskFolder });
  const program = new URL("./backup_service.ts", import.meta.url).pathname;
  await using service = startChild(["--unstable-kv", "--no-check", program], {
    ...{ cwd: folder.path, maxLifeMs: 60_000 + rounds * 20_000 },
  });
  const [url] = await service.printed(/http:\S+/);
  const send = async (path: string, init: RequestInit = {}) => await fetch(url + path, init);
  const signup = await post(send, "api/auth/signup", account);
  assertEquals(signup.status, 201);
  await signup.body?.cancel();
  const sums = { writes: 0, streams: 0, refused: 0 };
  let previous: string | null = null;
  for (let round = 0; round < rounds; round++) {
    const session = await logIn(send);
    const position = await positionOf(send, session);
    const backup = await backUp(folder.path);
    const [laterSession, laterPosition] = [await logIn(send), await positionOf(send, session)];
    const place = `${folder.path}/elsewhere-${round}`;
    await restore(backup, place);
    {
      await using shop = await openShop(place);
      sums.writes += await countWrites(shop);
      assertEquals(await statusWith(shop.app, session), 200, "a session of before the backup");
      assertEquals(await statusWith(shop.app, laterSession), 401, "a session of after the backup");
      for (const token of [position, laterPosition]) {
        assertEquals(await firstEvent(shop.app, session, token), "history_lost");
        sums.streams++;
      }
    }
    await Deno.remove(place, { recursive: true });
    sums.refused += await restoreDamaged(backup, previous, place);
    if (previous !== null) await Deno.remove(previous, { recursive: true });
    previous = backup;
  }
  service.signal("SIGKILL");
  await service.ended();
  return sums;
}

type Send = (path: string, init?: RequestInit) => Promise<Response>;

async function post(send: Send, path: string, body: unknown): Promise<Response> {
  const headers = { "content-type": "application/json" };
  const response = await send(path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** Begins a session. Returns its token. */
async function logIn(send: Send): Promise<string> {
  const response = await post(send, "api/auth/login", { ...account, transport: "bearer" });
  return (await response.json()).token;
}

/** Opens a stream until it has a position, as a client that later resumes. */
async function positionOf(send: Send, token: string): Promise<string> {
  const stream = await openEventStream(
    (signal) => send("api/notes/subscribe?filter=n<3", { headers: bearer(token), signal }),
    () => {},
  );
  await stream.untilSynced();
  const position = stream.lastEventId === "" ? await stream.untilToken() : stream.lastEventId;
  await stream.close();
  return position;
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

/** Runs `backup` as its own process would. Returns the folder of the backup. */
async function backUp(folder: string): Promise<string> {
  const kept = `${folder}/kept`;
  await quietly(() =>
    runBackupCommand({
      ...{ kind: "backup", folder: kept, database: `${folder}/shop.db`, json: false },
      ...{ kv: `${folder}/service.kv`, config: null, keep: null },
    }, version)
  );
  const names = [...Deno.readDirSync(kept)].map(({ name }) => name);
  const [newest] = names.toSorted((a, b) => timeOf(kept, b) - timeOf(kept, a));
  return `${kept}/${newest}`;
}

function timeOf(folder: string, name: string): number {
  return Deno.statSync(`${folder}/${name}/manifest.json`).mtime?.getTime() ?? 0;
}

async function restore(backup: string, place: string): Promise<void> {
  await quietly(() =>
    runRestoreCommand({
      ...{ kind: "restore", folder: backup, config: null, yes: false },
      ...{ database: `${place}/shop.db`, kv: `${place}/service.kv` },
    }, version)
  );
}

/** Both commands print for the operator. */
async function quietly(work: () => Promise<number>): Promise<void> {
  const { log, error } = console;
  console.log = console.error = () => {};
  try {
    assertEquals(await work(), 0);
  } finally {
    Object.assign(console, { log, error });
  }
}

/** Counts rows and credits. A write consumes a credit, and then inserts the row of its number. */
async function countWrites({ app, ledger }: Awaited<ReturnType<typeof openShop>>) {
  const [group] = (await app.as({ id: "ada" }).notes.aggregate({ count: true, max: ["n"] })).groups;
  const [rows, last] = [Number(group?.count), Number(group?.max?.["n"] ?? 0)];
  assertEquals(last, rows, "no row is missing");
  const [audit, ...others] = await ledger.audit();
  assert(audit !== undefined && others.length === 0);
  const consumed = granted - audit.balance;
  assert(consumed === rows || consumed === rows + 1, `${rows} rows, ${consumed} credits consumed`);
  assertEquals([audit.entries, audit.faults], [consumed + 1, []], "the audit of the ledger");
  return rows;
}

async function statusWith(app: App, token: string): Promise<number> {
  const request = new Request("http://localhost/api/notes?limit=1", { headers: bearer(token) });
  const response = await app.fetch(request);
  await response.body?.cancel();
  return response.status;
}

/** Resumes a stream. Returns the reason of the first event, or the name of another event. */
async function firstEvent(app: App, token: string, position: string): Promise<string> {
  const headers = { ...bearer(token), "last-event-id": position };
  const stream = await openEventStream(
    (signal) =>
      app.fetch(
        new Request("http://localhost/api/notes/subscribe?filter=n<3", { headers, signal }),
      ),
    () => {},
  );
  const event = await stream.next();
  await stream.close();
  return event?.type === "invalidate" ? event.data.reason : String(event?.type);
}

/** Restores a backup with damaged or foreign copies, which must fail. Returns how many failed. */
async function restoreDamaged(
  backup: string,
  previous: string | null,
  place: string,
): Promise<number> {
  const damages: readonly (readonly [file: string, damage: (path: string) => Promise<void>])[] = [
    ["shop.db", async (path) => await Deno.truncate(path, Deno.statSync(path).size - 4096)],
    [
      "kv-service.kv",
      async (path) => await Deno.writeFile(path, new Uint8Array(1), { append: true }),
    ],
    ...previous === null
      ? []
      : ["shop.db", "kv-service.kv"].map((file) =>
        [file, (path: string) => Deno.copyFile(`${previous}/${file}`, path)] as const
      ),
  ];
  for (const [file, damage] of damages) {
    const path = `${backup}/${file}`;
    await Deno.copyFile(path, `${path}.whole`);
    await damage(path);
    await assertRejects(() => restore(backup, place), Error, "its SHA-256 differs");
    await Deno.rename(`${path}.whole`, path);
    await assertRejects(() => Deno.stat(`${place}/shop.db`), Deno.errors.NotFound);
  }
  return damages.length;
}
