/**
 * Users who write and then read on replicas, while the standbys stop replaying, hang and end:
 * `deno task check-replicas [checks] [seed]`. Two services of one primary have two standbys. A check
 * is a write by one service and a list or a count by the other service, which must contain the write.
 */
import { all, createApp, integer, openDatabase, resource, table, text } from "../../../mod.ts";
import { seededRandom } from "../../fuzz/engine/random.ts";
import { type MortalPostgres, startMortalPostgres } from "../../support/mortal_postgres.ts";

const [checks = 100_000, seed = 1] = Deno.args.map(Number);
const users = 16;
const notes = table("notes", {
  id: integer().primaryKey(),
  owner: text().notNull(),
  version: integer().notNull().default(1),
});
const random = seededRandom(seed);

await using primary = await startMortalPostgres();
const standbys = [await primary.createStandby(), await primary.createStandby()];
const first = await service(true);
const second = await service(false);
const services = [first, second];
const faults = { paused: 0, frozen: 0, ended: 0 };
let [done, past, failed] = [0, 0, 0];
const startedAt = performance.now();
const nemesis = disturb();
await Promise.all(Array.from({ length: users }, (_, user) => act(`user ${user}`)));
await nemesis;
report();
for (const { app, db } of services) {
  await app.close();
  await db.close();
}
for (const standby of standbys) await standby[Symbol.asyncDispose]();
if (past > 0) Deno.exit(1);

async function service(creates: boolean) {
  const db = await openDatabase({ primary: primary.url, replicas: standbys.map(({ url }) => url) });
  if (creates) await db.createTables([notes]);
  const app = await createApp({
    ...{ db, secret: "a secret for the check" },
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: { read: true }, create: () => all(), update: () => all() },
        etag: { versionField: notes.version },
      }),
    ],
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "user" });
        await next();
      },
    },
    observe: () => {},
  });
  return { app, db };
}

async function act(owner: string): Promise<void> {
  let rows = 0;
  while (done < checks) {
    done++;
    if (done % 10_000 === 0) report();
    const [writer, reader] = random.below(2) === 0 ? [first, second] : [second, first];
    const created = await send(writer, "/api/notes", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ owner }),
    });
    if (created.status !== 201) throw new Error(`A create failed with ${created.status}`);
    rows++;
    const filter = `filter=${encodeURIComponent(`owner=="${owner}"`)}`;
    const isCount = random.below(2) === 0;
    const read = await send(
      reader,
      isCount ? `/api/notes/count?${filter}` : `/api/notes?${filter}&orderBy=-id&limit=1`,
    );
    if (read.status !== 200) failed++;
    else if (isCount ? read.body.count !== rows : read.body.items[0].id !== created.body.id) past++;
  }
}

async function send({ app }: typeof first, path: string, init?: RequestInit) {
  const response = await app.fetch(new Request(`http://localhost${path}`, init));
  return { status: response.status, body: await response.json() };
}

async function disturb(): Promise<void> {
  while (done < checks) {
    await wait(500 + random.below(2_000));
    const standby = standbys[random.below(2)]!;
    const lasts = 20 + random.below(400);
    await [pause, freeze, end][random.below(3)]!(standby, lasts);
  }
}

async function pause({ url }: MortalPostgres, ms: number): Promise<void> {
  faults.paused++;
  const db = await openDatabase(url);
  const run = (call: string) => db.driver.query({ text: `SELECT ${call}`, values: [] });
  await run("pg_wal_replay_pause()");
  await wait(ms);
  await run("pg_wal_replay_resume()");
  await db.close();
}

async function freeze(standby: MortalPostgres, ms: number): Promise<void> {
  faults.frozen++;
  const processes = standby.processes();
  const signal = (name: Deno.Signal) => {
    for (const pid of processes) {
      try {
        Deno.kill(pid, name);
      } catch (error) {
        // A process of the server can have ended.
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
  };
  signal("SIGSTOP");
  await wait(ms);
  signal("SIGCONT");
}

async function end(standby: MortalPostgres, ms: number): Promise<void> {
  faults.ended++;
  await standby.crash();
  await wait(ms);
  await standby.start();
}

function report(): void {
  const counts = services.flatMap(({ db }) => db.driver.replicas ?? []).map(({ counts }) => counts);
  const sum = (name: "read" | "late" | "failed") =>
    counts.reduce((total, { [name]: count }) => total + count, 0);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  console.log(
    `${done} checks, ${past} saw the past, ${failed} reads failed; ` +
      `replicas ran ${sum("read")} reads, were late for ${sum("late")}, failed ${sum("failed")}; ` +
      `standbys paused ${faults.paused}, frozen ${faults.frozen}, ended ${faults.ended} times; ` +
      `${seconds} s`,
  );
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
