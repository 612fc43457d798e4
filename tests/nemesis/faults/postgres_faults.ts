/** Faults of a Postgres server, of its pooler, and of the network in front of it. */
import postgres from "postgres";
import { sleep } from "../../../src/runtime/runtime.ts";
import { pgbouncerForTests } from "../../support/pgbouncer.ts";
import { signalProcess } from "../../support/process_tree.ts";
import { missingNamespace } from "../namespace.ts";
import { PostgresPlace, type World } from "../world.ts";
import type { Fault } from "./fault.ts";

type Work = (place: PostgresPlace, world: World) => Promise<void>;

function fault(name: string, work: Work): Fault {
  return {
    name,
    engines: ["postgres"],
    async run(world) {
      if (!(world.place instanceof PostgresPlace)) throw new Error(`${name} needs Postgres`);
      await work(world.place, world);
    },
  };
}

const pgbouncer = await pgbouncerForTests();

export const postgresFaults: readonly Fault[] = [
  fault("immediate restart", async ({ server }, { outage, hold }) => {
    await server.crash();
    await outage(() => hold(4_000));
    await server.start();
  }),
  fault("fast restart", async ({ server }, { outage, hold }) => {
    await server.stop();
    await outage(() => hold(1_500));
    await server.start();
  }),
  fault("random backends ended", (place) => endBackends(place, "random() < 0.4", 100)),
  fault("running backends ended", (place) => endBackends(place, "state = 'active'", 10)),
  fault("commits that wait for a standby, then ended", async (place, { hold }) => {
    await alterSystem(place, "SET synchronous_standby_names = 'absent'");
    await hold(3_000);
    await endBackends(place, "wait_event = 'SyncRep' AND random() < 0.5", 20);
    await alterSystem(place, "RESET synchronous_standby_names");
  }),
  fault("connections exhausted", exhaustConnections),
  fault("tables locked", (place, { hold }) =>
    place.administer((sql) =>
      sql.begin(async (tx) => {
        await tx.unsafe("LOCK TABLE items, orders IN ACCESS EXCLUSIVE MODE");
        await hold(7_000);
      })
    )),
  fault("read-only by default", async (place, { hold }) => {
    await alterSystem(place, "SET default_transaction_read_only = on");
    await hold(3_000);
    await place.administer(async (sql) => {
      await sql.unsafe("SET default_transaction_read_only = off");
      await sql.unsafe("ALTER SYSTEM RESET default_transaction_read_only");
      await sql.unsafe("SELECT pg_reload_conf()");
    });
  }),
  fault("short limits of idle transactions", async (place, { hold }) => {
    await alterSystem(place, "SET idle_in_transaction_session_timeout = 3");
    await hold(3_000);
    await alterSystem(place, "RESET idle_in_transaction_session_timeout");
  }),
  fault("short limits of statements", async (place, { hold }) => {
    await place.administer((sql) => sql.unsafe(`ALTER ROLE app SET statement_timeout = '3ms'`));
    await endBackends(place, "true", 1);
    await hold(3_000);
    await place.administer((sql) => sql.unsafe("ALTER ROLE app RESET statement_timeout"));
    await endBackends(place, "true", 1);
  }),
  fault("backends suspended", async ({ server }, { chance, hold }) => {
    const pids = server.processes().slice(1).filter(() => chance.once(2));
    await suspended(pids, () => hold(6_000));
  }),
  fault(
    "the server is suspended",
    ({ server }, { outage, hold }) =>
      suspended(server.processes(), () => outage(() => hold(6_000))),
  ),
  fault("connections cut", async ({ proxy }) => {
    for (let cuts = 0; cuts < 5; cuts++) {
      proxy.cut();
      await sleep(150);
    }
  }),
  fault("network stalls", async ({ proxy }, { outage, hold }) => {
    proxy.stall();
    await outage(() => hold(8_000));
    proxy.resume();
  }),
  fault("network stalls, then connections are cut", async ({ proxy }, { outage, hold }) => {
    proxy.stall();
    await outage(() => hold(8_000));
    proxy.cut();
    proxy.resume();
  }),
  fault("no packet passes for a minute", async ({ proxy }, { outage }) => {
    proxy.stall();
    await outage(() => sleep(60_000));
    proxy.cut();
    proxy.resume();
  }),
  ...[7_000, 40_000].map((ms) => ({
    ...fault(`partition of a network namespace, ${ms / 1_000} s`, async (_place, { namespace }) => {
      await namespace?.setLink("down");
      await sleep(ms);
      await namespace?.setLink("up");
    }),
    missing: missingNamespace,
    hitsStore: true,
  })),
  storeFault("the store hangs", async ({ storeProxy }, { hold }) => {
    storeProxy.stall();
    await hold(8_000);
    storeProxy.resume();
  }),
  storeFault("the store hangs, then its connections are cut", async ({ storeProxy }, { hold }) => {
    storeProxy.stall();
    await hold(8_000);
    storeProxy.cut();
    storeProxy.resume();
  }),
  storeFault("immediate restart of the store", async ({ storeServer }, { hold }) => {
    await storeServer.crash();
    await hold(4_000);
    await storeServer.start();
  }),
  fault("failover to a synchronous standby", (place, { hold }) =>
    failOver(place, async () => {
      await alterSystem(place, "SET synchronous_standby_names = '*'");
      while (!(await replication(place)).includes("sync")) await sleep(50);
      await hold(1_000);
    })),
  fault(
    "failover to an asynchronous standby",
    (place, { hold, permitLoss }) =>
      failOver(place, async () => {
        permitLoss();
        await hold(1_000);
      }),
  ),
  {
    ...fault("pgbouncer killed", async ({ pooler }) => {
      for (let kills = 0; kills < 3; kills++) {
        await pooler?.killAndStart();
        await sleep(200);
      }
    }),
    missing: "missing" in pgbouncer ? pgbouncer.missing : null,
  },
];

function storeFault(name: string, work: Work): Fault {
  return { ...fault(name, work), hitsStore: true };
}

async function alterSystem(place: PostgresPlace, change: string): Promise<void> {
  await place.administer(async (sql) => {
    await sql.unsafe(`ALTER SYSTEM ${change}`);
    await sql.unsafe("SELECT pg_reload_conf()");
  });
}

/** Ends the backends of the service that match, several times. */
async function endBackends(place: PostgresPlace, where: string, times: number): Promise<void> {
  await place.administer(async (sql) => {
    for (let ends = 0; ends < times; ends++) {
      await sql.unsafe(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE usename = 'app' AND ${where}`);
      await sleep(10);
    }
  });
}

async function exhaustConnections(place: PostgresPlace, { hold }: World): Promise<void> {
  const taken: postgres.Sql[] = [];
  const take = async () => {
    const sql = postgres(place.url, { max: 1, onnotice: () => {}, connect_timeout: 5 });
    taken.push(sql);
    await sql.unsafe("SELECT 1");
  };
  const takeAll = async () => {
    for (let count = 0; count < 100; count++) await take();
  };
  await takeAll().catch(() => {});
  await endBackends(place, "application_name = 'resource-api'", 1);
  await takeAll().catch(() => {});
  await hold(3_000);
  await Promise.all(taken.map((sql) => sql.end({ timeout: 0 })));
}

async function suspended(pids: readonly number[], work: () => Promise<void>): Promise<void> {
  for (const pid of pids) signalProcess(pid, "SIGSTOP");
  await work();
  for (const pid of pids) signalProcess(pid, "SIGCONT");
}

async function replication(place: PostgresPlace): Promise<readonly unknown[]> {
  return (await place.query("SELECT sync_state FROM pg_stat_replication"))
    .map(({ sync_state }) => sync_state);
}

async function failOver(place: PostgresPlace, prepare: () => Promise<void>): Promise<void> {
  const standby = await place.server.createStandby();
  while ((await replication(place)).length === 0) await sleep(50);
  await prepare();
  await place.failOver(standby);
  await alterSystem(place, "RESET synchronous_standby_names");
}
