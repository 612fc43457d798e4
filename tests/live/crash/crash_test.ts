import { assert, assertEquals, assertRejects } from "@std/assert";
import { DatabaseError } from "../../../src/db/database_error.ts";
import { openDatabase } from "../../../src/engines/open_database.ts";
import { postgresProxy } from "../../db/postgres_proxy.ts";
import { openLog } from "../../conformance/change_log_support.ts";
import { createScratchDatabase } from "../../support/engines.ts";
import type { Service } from "../../support/http.ts";
import { missingPostgres, startMortalPostgres } from "../../support/mortal_postgres.ts";
import { run } from "../../support/scratch.ts";
import { testUnless } from "../../support/skip.ts";
import { caller, crashRun, type CrashVerdict, eventually } from "./crash_run.ts";
import type { Fold } from "./fold.ts";
import type { Database } from "../../../src/db/database.ts";
import { printLogPosition } from "../../../src/db/changes/log_position.ts";

const none = { open: 0, aggregate: 0, resumed: 0, "resumed later": 0 };
const lost = ["history_lost"];

/** What no commit waits for stays in memory for longer. */
const slowWriter = { wal_writer_delay: "10s" };

testUnless(
  missingPostgres,
  "postgres: no stream loses changes when crash recovery gives numbers of transactions again",
  async () => {
    await using server = await startMortalPostgres(slowWriter);
    for (let number = 0; number < 4; number++) {
      const { wrong } = await crashRun(server.url, async () => {
        await server.crash();
        await server.start();
      });
      assertEquals(wrong, none);
    }
  },
);

testUnless(
  missingPostgres,
  "postgres: rows that were seen and that a crash took back are shown no longer",
  async () => {
    await using server = await startMortalPostgres({ synchronous_commit: "off" });
    let seen: ReadonlyMap<number, string> = new Map();
    const evaluation = await crashRun(server.url, async (service, streams) => {
      const writer = await walWriterOf(service.db);
      Deno.kill(writer, "SIGSTOP");
      seen = await insertSeen(service, streams);
      // Where one of its processes dies, a server ends the others and recovers by itself.
      Deno.kill(writer, "SIGKILL");
      await eventually(() => walWriterOf(service.db).then((pid) => pid > 0 && pid !== writer, no));
    });
    assertLost(evaluation, seen);
  },
);

testUnless(
  missingPostgres,
  "postgres: a standby that is promoted begins another life of the log, whatever it lacks",
  async () => {
    await using primary = await startMortalPostgres();
    await using standby = await primary.createStandby();
    let target = primary.url;
    await using proxy = postgresProxy(() => target, () => Promise.resolve(true));
    let seen: ReadonlyMap<number, string> = new Map();
    const evaluation = await crashRun(proxy.url, async (service, streams) => {
      await standby.stop();
      seen = await insertSeen(service, streams);
      await primary.crash();
      await standby.start();
      target = standby.url;
      await eventually(async () => (await service.get("/api/notes/1")).status === 200);
      await standby.promote();
    });
    assertLost(evaluation, seen);
  },
);

testUnless(
  missingPostgres,
  "postgres: a standby that still follows gives no position, for its snapshots lack what is running",
  async () => {
    await using primary = await startMortalPostgres();
    await using standby = await primary.createStandby();
    let target = primary.url;
    await using proxy = postgresProxy(() => target, () => Promise.resolve(true));
    const db = await openDatabase(proxy.url);
    const log = await openLog(db, []);
    const before = await log.end();
    await primary.stop();
    target = standby.url;
    await eventually(() => Promise.resolve(db.driver.query(one)).then(yes, no));
    for (
      const evaluateInDatabase of [() => log.end(), () => log.next(before), () => log.readAt(one)]
    ) {
      const error = await assertRejects(evaluateInDatabase, DatabaseError);
      assertEquals(error.kind, "unavailable");
    }
    await standby.promote();
    assert((await log.end()).epoch !== before.epoch);
    assertEquals(await log.next(before), null);
    await log.close();
    await db.close();
  },
);

testUnless(
  missingPostgres,
  "postgres: a server that is stopped in good order keeps every place",
  async () => {
    await using server = await startMortalPostgres();
    const { wrong, invalidations } = await crashRun(server.url, async () => {
      await server.stop();
      await server.start();
    });
    assertEquals(wrong, none);
    assertEquals(Object.values(invalidations).flat(), []);
  },
);

testUnless(
  missingPostgres,
  "postgres: after a crash the log of several processes continues from what was kept",
  async () => {
    await using server = await startMortalPostgres();
    const scratch = await createScratchDatabase(server.url);
    const dbs = await Promise.all([1, 2, 3].map(() => openDatabase(scratch.url)));
    const logs = await Promise.all(dbs.map((db) => openLog(db, [])));
    const before = await Promise.all(logs.map((log) => log.end()));
    assertEquals(new Set(before.map(({ epoch }) => epoch)).size, 1);
    await server.crash();
    await server.start();
    await eventually(() => Promise.all(dbs.map(({ driver }) => driver.query(one))).then(yes, no));
    const after = await Promise.all(logs.map((log) => log.end()));
    assertEquals(new Set(after.map(({ epoch }) => epoch)).size, 1);
    assert(after[0]?.epoch !== before[0]?.epoch);
    for (const [index, log] of logs.entries()) {
      const [position, place] = [before[index], after[index]];
      assert(position !== undefined && place !== undefined);
      assertEquals(log.parse(printLogPosition(position)), null);
      assertEquals(await log.next(position), null);
      assertEquals((await log.next(place))?.changes, []);
      await log.close();
    }
    await Promise.all(dbs.map((db) => db.close()));
    await scratch.drop();
  },
);

const one = { text: "SELECT 1", values: [] };
const yes = () => true;
const no = () => false;

/** The process that writes to disk what no commit waits for. */
async function walWriterOf(db: Database): Promise<number> {
  const { rows } = await run(
    db,
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'",
  );
  return Number(rows[0]?.[0]);
}

/** Inserts rows and waits until an open stream has shown them. */
async function insertSeen(
  service: Service,
  streams: ReadonlyMap<string, Fold>,
): Promise<ReadonlyMap<number, string>> {
  const seen = new Map(Array.from({ length: 10 }, (_, index) => [500 + index, "soon gone"]));
  for (const [id, title] of seen) {
    const { status } = await service.send("POST", "/api/notes", { id, title }, caller);
    assertEquals(status, 201);
  }
  await eventually(() => [...seen.keys()].every((id) => streams.get("open")?.rows.has(id)));
  return seen;
}

/** The rows that were seen are gone from the table, and from every stream. */
function assertLost(
  { wrong, invalidations, truth }: CrashVerdict,
  seen: ReadonlyMap<number, string>,
): void {
  assert([...seen.keys()].some((id) => !truth.has(id)), "nothing was lost");
  assertEquals(wrong, none);
  assertEquals(invalidations, { open: lost, aggregate: [], resumed: lost, "resumed later": lost });
}
